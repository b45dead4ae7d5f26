"""`python -m benchmarks`: the worker and four other ways to number tickets."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.cells import Results, measure
from benchmarks.claims import CLAIMS
from benchmarks.claims_of_the_line import CLAIMS_OF_THE_LINE
from benchmarks.costs import of_a_month
from benchmarks.plots import draw
from benchmarks.profiles import MEASURED, PROFILES
from benchmarks.report import assumptions, prices, table_of, target_table
from simulation.pages import unsaid
from simulation.play import all_cores

app = typer.Typer(add_completion=False)


@app.command()
def main(
    seeds: Annotated[
        int, typer.Option(min=1, help="Runs of each of the worker's cells.")
    ] = 3,
    scale: Annotated[
        float, typer.Option(min=0.05, help="Length of the runs; 1 is the usual.")
    ] = 1.0,
    profile: Annotated[
        str, typer.Option(help=f"AWS's times: {', '.join(PROFILES)}.")
    ] = MEASURED.name,
    line: Annotated[  # noqa: FBT002 - an option of typer.
        bool, typer.Option("--line", help="Compare the worker with and without a line.")
    ] = False,
    plots: Annotated[Path | None, typer.Option(help="Draw the plots here.")] = None,
) -> None:
    """Measure the worker and four other ways to number tickets, on the model of AWS.

    Prints a table for each claim as soon as it is measured, then the targets, if
    the runs have the full length.
    Ends with status 0 whether or not the targets are met, and with 1 if README or
    docs/scaling.md say something else of the costs of a month.
    """
    if profile not in PROFILES:
        names = ", ".join(PROFILES)
        raise typer.BadParameter(f"there is no profile {profile!r}: {names}")
    played = PROFILES[profile]
    typer.echo(assumptions(played))
    results: Results = {}
    with all_cores() as pool:
        for claim in CLAIMS_OF_THE_LINE if line else CLAIMS:
            cells = {*claim.cells.values()} - results.keys()
            results |= measure(pool, cells, played, seeds, scale)
            typer.echo(table_of(claim, results))
    if line:
        return
    if scale >= 1:
        typer.echo(target_table(results))
    else:
        typer.echo("Targets are judged at SCALE=1: contention needs the full length.")
    if plots:
        draw(results, plots)
    typer.echo(prices())
    if wrong := _unsaid_costs():
        typer.echo("\n".join(wrong), err=True)
        raise typer.Exit(1)


def _unsaid_costs() -> list[str]:
    """Print the costs of a month; return those that the pages lack."""
    wrong: list[str] = []
    for page, said in of_a_month().items():
        typer.echo("\n".join(said))
        wrong += unsaid(page, *said)
    return wrong


if __name__ == "__main__":
    app()
