"""`python -m simulation`: play random histories."""

from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from simulation.known_bad.algorithms import ALGORITHMS, CORRECT_BUT_COSTLY, KNOWN_BAD
from simulation.pages import unsaid
from simulation.play import Totals, play, play_on_all_cores
from simulation.world.execution_environment import SHIPPED
from simulation.world.world import Outcome

app = typer.Typer(add_completion=False, help=__doc__)
console = Console()

FOUND = 1
"""Exit status: a promise was broken, or the page says something else; rich has it, too,
when nobody reads on."""

PUBLISHED: Final = 10_000
"""The histories whose faults docs/proof.md has."""


@app.command()
def seeds(
    count: Annotated[
        int, typer.Argument(help="The number of histories.", min=1)
    ] = PUBLISHED,
    first: Annotated[int, typer.Option(help="The first seed.")] = 1,
    algorithm: Annotated[
        str, typer.Option(help="The algorithm's name.")
    ] = SHIPPED.name,
) -> None:
    """Play histories on all cores; stop at the first violation."""
    totals = Totals()
    with _progress() as progress:
        task = progress.add_task("histories", total=count)
        try:
            for chunk in play_on_all_cores(range(first, first + count), algorithm):
                totals += chunk
                progress.advance(task, chunk.counts["histories"])
                if totals.violations:
                    break
        except KeyboardInterrupt:
            console.print("interrupted; so far:")
    console.print(_table(totals))
    for seed, violation in totals.violations[:1]:
        _show(play(seed, ALGORITHMS[algorithm]))
        console.print(f"seed {seed}: {violation}", style="red", markup=False)
        raise typer.Exit(FOUND)
    histories, faults = totals.counts["histories"], totals.counts["faults"]
    if (algorithm, first, histories) == (SHIPPED.name, 1, PUBLISHED):
        # Rounded, for a change of the worker moves it a little.
        _compare(f"{histories:,} histories, about {round(faults, -4):,} faults")


def _compare(figures: str) -> None:
    """Print figures, which the page has too.

    Raises:
        Exit: The page has others.
    """
    console.print(figures)
    for line in unsaid("docs/proof.md", figures):
        console.print(line, style="red", markup=False)
        raise typer.Exit(FOUND)


@app.command()
def seed(
    number: Annotated[int, typer.Argument(help="The seed.")],
    algorithm: Annotated[
        str, typer.Option(help="The algorithm's name.")
    ] = SHIPPED.name,
) -> None:
    """Show one history: every call and its answer."""
    outcome = play(number, ALGORITHMS[algorithm])
    _show(outcome)
    said = outcome.violation or "every promise was kept"
    console.print(str(said), markup=False)
    if outcome.violation:
        raise typer.Exit(FOUND)


@app.command()
def known_bad(
    count: Annotated[
        int, typer.Argument(help="The number of histories of each.")
    ] = 1000,
) -> None:
    """Count the seeds until each known-bad algorithm breaks a promise.

    Status 1: one breaks none, a correct one does, or docs/proof.md has other figures.
    """
    wrong, last = list[str](), 0
    table = Table(
        "algorithm", "first seed", f"of {count:,} histories", "first violation"
    )
    with _progress() as progress:
        for algorithm in progress.track([*KNOWN_BAD, *CORRECT_BUT_COSTLY]):
            name, totals = algorithm.name, Totals()
            for chunk in play_on_all_cores(range(1, count + 1), name):
                totals += chunk
            number, violation = min(totals.violations, default=(0, "nothing"))
            last = max(last, number)
            broken = f"{len(totals.violations):,}"
            table.add_row(name, str(number or "none"), broken, str(violation))
            if bool(totals.violations) != (algorithm in KNOWN_BAD):
                wrong.append(name)
    console.print(table)
    for name in wrong:
        console.print(f"unexpected: {name}", style="red", markup=False)
    if wrong:
        raise typer.Exit(FOUND)
    _compare(f"all {len(KNOWN_BAD)} caught, the last at seed {last}")


def _show(outcome: Outcome) -> None:
    for line in outcome.history.lines():
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _progress() -> Progress:
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn())
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True))


def _table(totals: Totals) -> Table:
    table = Table("count", "total")
    rows = [*sorted(totals.counts.items()), ("violations", len(totals.violations))]
    conditions = [
        (f"histories with {name}", totals.met[name]) for name in totals.intervals
    ]
    for name, number in [*rows, *conditions]:
        table.add_row(name, f"{number:,}")
    return table


if __name__ == "__main__":
    app()
