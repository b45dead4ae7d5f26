"""`python -m operators`: play histories in which operators seed, import and restore."""

from typing import Annotated, Final

import typer
from rich.table import Table

from operators.known_bad_restores import KNOWN_BAD, refuted
from operators.play import play, play_seed
from operators.restored_history import play_restores
from simulation.console import PROBLEM, compare, console, played, progress, show
from simulation.play import all_cores, on_all_cores

app = typer.Typer(add_completion=False, help=__doc__)

PUBLISHED: Final = 1_000
"""The histories whose faults docs/proof.md has."""


@app.command()
def seeds(
    count: Annotated[
        int, typer.Argument(help="The number of histories.", min=1)
    ] = PUBLISHED,
    first: Annotated[int, typer.Option(help="The first seed.")] = 1,
) -> None:
    """Play histories on all cores; stop at the first violation."""
    chunks = on_all_cores(play, range(first, first + count))
    totals = played("histories with operators", count, chunks)
    for seed, _ in totals.violations[:1]:
        show(play_seed(seed))
    histories, faults = totals.counts["histories"], totals.counts["faults"]
    if (first, histories) == (1, PUBLISHED):
        # Rounded, for a change of the worker moves it a little.
        compare(f"{histories:,} with operators, about {round(faults, -3):,} faults")


@app.command()
def restores(
    count: Annotated[int, typer.Argument(help="The number of histories.", min=1)],
    first: Annotated[int, typer.Option(help="The first seed.")] = 1,
) -> None:
    """Play histories in which tables go back, and exports are restored."""
    chunks = on_all_cores(play_restores, range(first, first + count))
    if played("histories with restores", count, chunks).violations:
        raise typer.Exit(PROBLEM)


@app.command()
def known_bad(
    count: Annotated[
        int, typer.Argument(help="The number of histories of each, at most.", min=1)
    ] = 400,
) -> None:
    """Play histories until each known-bad restore breaks its promise.

    Status 1: one does not, or at another seed than its table has.
    """
    table, wrong = Table("restore", "first seed", "breaks"), list[str]()
    with all_cores() as pool, progress() as bars:
        numbers = range(len(KNOWN_BAD))
        seeds = pool.map(refuted, numbers, [range(1, count + 1)] * len(numbers))
        for restore, seed in zip(bars.track(KNOWN_BAD), seeds, strict=True):
            table.add_row(restore.does, str(seed or "none"), restore.breaks.name)
            if seed != restore.seed:
                wrong.append(restore.does)
    console.print(table)
    for name in wrong:
        console.print(f"unexpected: {name}", style="red", markup=False)
    if wrong:
        raise typer.Exit(PROBLEM)


@app.command()
def seed(number: Annotated[int, typer.Argument(help="The seed.")]) -> None:
    """Show one history: every call and its answer."""
    show(play_seed(number))


if __name__ == "__main__":
    app()
