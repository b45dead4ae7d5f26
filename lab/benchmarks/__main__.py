"""`python -m benchmarks`: the worker and four other ways to number tickets."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.cells import measure
from benchmarks.claims import CLAIMS
from benchmarks.plots import draw
from benchmarks.report import report

app = typer.Typer(add_completion=False)


@app.command()
def main(
    seeds: Annotated[
        int, typer.Option(min=1, help="Runs of each of the worker's cells.")
    ] = 3,
    scale: Annotated[
        float, typer.Option(min=0.05, help="Length of the runs; 1 is the usual.")
    ] = 1.0,
    plots: Annotated[Path | None, typer.Option(help="Draw the plots here.")] = None,
) -> None:
    """Measure the worker and four other ways to number tickets, on the model of AWS.

    Prints the targets, and a table for each claim.
    Ends with status 0 whether or not the targets are met.
    """
    cells = {cell for claim in CLAIMS for cell in claim.cells.values()}
    results = measure(cells, seeds, scale)
    typer.echo(report(results))
    if plots:
        draw(results, plots)


if __name__ == "__main__":
    app()
