"""Prints histories for the programs of the laboratory."""

from collections.abc import Iterable
from typing import Final

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from simulation.pages import unsaid
from simulation.play import Totals
from simulation.world.world import Outcome

console: Final = Console()

PROBLEM: Final = 1
"""Exit status: a promise was broken, or the page has other figures; rich uses it, too,
when the reader is gone."""


def show(outcome: Outcome) -> None:
    """Print every call and its answer, and the broken invariants.

    Raises:
        Exit: A promise was broken.
    """
    for line in outcome.history.lines():
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    said = outcome.violation or "every promise was kept"
    console.print(str(said), markup=False)
    if outcome.violation:
        raise typer.Exit(PROBLEM)


def progress() -> Progress:
    """Return progress bars."""
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn())
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True))


def played(what: str, count: int, chunks: Iterable[Totals]) -> Totals:
    """Count histories as they are played, up to a violation, and print the sums."""
    totals = Totals()
    with progress() as bars:
        task = bars.add_task(what, total=count)
        try:
            for chunk in chunks:
                totals += chunk
                bars.advance(task, chunk.counts["histories"])
                if totals.violations:
                    break
        except KeyboardInterrupt:
            console.print("interrupted; so far:")
    conditions = [
        (f"histories with {name}", totals.met[name]) for name in totals.intervals
    ]
    rows = [*sorted(totals.counts.items()), ("violations", len(totals.violations))]
    console.print(table_of(rows + conditions))
    for seed, violation in totals.violations[:1]:
        console.print(f"seed {seed}: {violation}", style="red", markup=False)
    return totals


def table_of(rows: Iterable[tuple[str, int]]) -> Table:
    """Return a table of counts."""
    table = Table("count", "total")
    for name, number in rows:
        table.add_row(name, f"{number:,}")
    return table


def compare(figures: str) -> None:
    """Print figures, and compare them with the page.

    Raises:
        Exit: The page has other figures.
    """
    console.print(figures)
    for line in unsaid("docs/proof.md", figures):
        console.print(line, style="red", markup=False)
        raise typer.Exit(PROBLEM)
