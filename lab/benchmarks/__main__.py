"""`python -m benchmarks`: the worker and four other ways to number tickets."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.cells import measure
from benchmarks.claims import CLAIMS
from benchmarks.plots import draw
from benchmarks.profiles import MEASURED
from benchmarks.report import report
from benchmarks.user_profiles import profile_of

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
        str, typer.Option(help="AWS's times: measured by others, fast or slow.")
    ] = MEASURED.name,
    times: Annotated[
        str,
        typer.Option(
            help="Times of one's own: p50,p90,p99 in ms of a transaction, or a report."
        ),
    ] = "",
    plots: Annotated[Path | None, typer.Option(help="Draw the plots here.")] = None,
) -> None:
    """Measure the worker and four other ways to number tickets, on the model of AWS.

    Prints the targets, and a table for each claim.
    Ends with status 0 whether or not the targets are met.
    """
    cells = {cell for claim in CLAIMS for cell in claim.cells.values()}
    try:
        played = profile_of(profile, times)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    results = measure(cells, played, seeds, scale)
    typer.echo(report(results, played))
    if plots:
        draw(results, plots)


if __name__ == "__main__":
    app()
