"""`python -m simulation`: play histories, or show one of them."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from simulation.configurations import (
    SMALL_WORLDS,
    Explored,
    explored_on_all_cores,
)
from simulation.coverage import ROWS
from simulation.environment import THE_REAL_WAY
from simulation.known_bad.algorithms import RIGHT_WAYS, WRONG_WAYS
from simulation.totals import WAYS, Totals, play_on_all_cores
from simulation.world import Outcome, play, quiet

app = typer.Typer(add_completion=False, help=__doc__)
console = Console()

FOUND = 1
"""Exit status: a promise was broken."""


@app.command()
def seeds(
    count: Annotated[int, typer.Argument(help="How many histories.", min=1)] = 10_000,
    first: Annotated[int, typer.Option(help="The first seed.")] = 1,
    way: Annotated[str, typer.Option(help="Whose code.")] = THE_REAL_WAY.name,
) -> None:
    """Play as many histories on all cores, and stop at the first violation."""
    totals = Totals()
    with _progress() as progress:
        task = progress.add_task("histories", total=count)
        try:
            for some in play_on_all_cores(range(first, first + count), way):
                totals += some
                progress.advance(task, some.histories)
                if totals.violations:
                    break
        except KeyboardInterrupt:
            console.print("interrupted; so far:")
    console.print(_table(totals))
    for seed, violation in totals.violations[:1]:
        _show(play_quietly(seed, way))
        console.print(f"seed {seed}: {violation}", style="red", markup=False)
        raise typer.Exit(FOUND)


@app.command()
def seed(
    number: Annotated[int, typer.Argument(help="The seed.")],
    way: Annotated[str, typer.Option(help="Whose code.")] = THE_REAL_WAY.name,
) -> None:
    """Show one history: who did what, and what was answered."""
    outcome = play_quietly(number, way)
    _show(outcome)
    console.print(outcome.violation or "every promise was kept", markup=False)
    if outcome.violation:
        raise typer.Exit(FOUND)


@app.command()
def wrong(
    count: Annotated[int, typer.Argument(help="How many histories of each.")] = 1000,
) -> None:
    """Count the seeds until each way that is known to be wrong breaks a promise."""
    table = Table("way", "first seed", f"of {count:,} histories", "what it broke first")
    with _progress() as progress:
        for name in progress.track([way.name for way in (*WRONG_WAYS, *RIGHT_WAYS)]):
            totals = Totals()
            for some in play_on_all_cores(range(1, count + 1), name):
                totals += some
            number, violation = min(totals.violations, default=(0, "nothing"))
            broken = f"{len(totals.violations):,}"
            table.add_row(name, str(number or "none"), broken, violation)
    console.print(table)


@app.command()
def small(
    *, quick: Annotated[bool, typer.Option(help="Only the smallest.")] = False
) -> None:
    """Explore every state of small worlds, and count them, as a table in Markdown."""
    worlds = [world for world in SMALL_WORLDS if world.is_quick or not quick]
    with _progress() as progress:
        explored = explored_on_all_cores(worlds)
        found = [*progress.track(explored, len(worlds))]
    _print(_small_table(found))
    for each in found:
        if each.violation or each.missing:
            _print(each.story)
            raise typer.Exit(FOUND)


def _small_table(found: Sequence[Explored]) -> list[str]:
    states = sum(each.states for each in found)
    transitions = sum(each.transitions for each in found)
    return [
        "| world | states | transitions | violations |",
        "|---|---|---|---|",
        *(
            f"| {each.world.name} | {each.states:,} | {each.transitions:,} "
            f"| {each.violation or _missing(each)} |"
            for each in found
        ),
        f"| **together** | **{states:,}** | **{transitions:,}** | |",
    ]


def _missing(found: Explored) -> str:
    return f"none, but {found.missing} not in the graph" if found.missing else "none"


def play_quietly(number: int, way: str) -> Outcome:
    """Play one history without its log lines."""
    with quiet():
        return play(number, WAYS[way])


def _show(outcome: Outcome) -> None:
    _print(outcome.history.lines())


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _progress() -> Progress:
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn())
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True))


def _table(totals: Totals) -> Table:
    table = Table("what", "how many")
    rows: list[tuple[str, float]] = [
        ("histories", totals.histories),
        ("messages delivered to the queue", totals.messages),
        ("tickets", totals.tickets),
        ("calls to AWS", totals.calls),
        ("scheduling points", totals.steps),
        ("faults", totals.faults.total()),
        *((f"  {fault.value}", n) for fault, n in totals.faults.most_common()),
        ("transactions refused", totals.refusals["TransactionCanceledException"]),
        *((f"  {code}", n) for code, n in totals.refusals.most_common()),
        *((row, totals.coverage[row]) for row in ROWS),
        ("violations", len(totals.violations)),
    ]
    for name, number in rows:
        table.add_row(name, f"{number:,.0f}")
    return table


if __name__ == "__main__":
    app()
