"""`python -m simulation`: play random histories."""

from typing import Annotated, Final

import typer
from rich.table import Table

from simulation.console import PROBLEM, compare, console, played, progress, show
from simulation.known_bad.algorithms import ALGORITHMS, CORRECT_BUT_COSTLY, KNOWN_BAD
from simulation.play import Totals, play, play_on_all_cores
from simulation.world.execution_environment import SHIPPED

app = typer.Typer(add_completion=False, help=__doc__)

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
    chunks = play_on_all_cores(range(first, first + count), algorithm)
    totals = played("histories", count, chunks)
    for seed, _ in totals.violations[:1]:
        show(play(seed, ALGORITHMS[algorithm]))
    histories, faults = totals.counts["histories"], totals.counts["faults"]
    if (algorithm, first, histories) == (SHIPPED.name, 1, PUBLISHED):
        # Rounded, for a change of the worker moves it a little.
        compare(f"{histories:,} histories, about {round(faults, -4):,} faults")


@app.command()
def seed(
    number: Annotated[int, typer.Argument(help="The seed.")],
    algorithm: Annotated[
        str, typer.Option(help="The algorithm's name.")
    ] = SHIPPED.name,
) -> None:
    """Show one history: every call and its answer."""
    show(play(number, ALGORITHMS[algorithm]))


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
    with progress() as bars:
        for algorithm in bars.track([*KNOWN_BAD, *CORRECT_BUT_COSTLY]):
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
        raise typer.Exit(PROBLEM)
    compare(f"all {len(KNOWN_BAD)} caught, the last at seed {last}")


if __name__ == "__main__":
    app()
