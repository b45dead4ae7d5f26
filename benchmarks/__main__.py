"""`python -m benchmarks`: ours beside four other ways to number tickets."""

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from benchmarks.cells import GROUPS, measure, runs_of
from benchmarks.plots import draw
from benchmarks.report import report

app = typer.Typer(add_completion=False)


@app.command()
def main(
    seeds: Annotated[
        int, typer.Option(min=1, help="Runs of each headline cell of ours.")
    ] = 8,
    scale: Annotated[
        float, typer.Option(min=0.05, help="Length of the runs; 1 is the usual.")
    ] = 1.0,
    out: Annotated[
        Path | None, typer.Option(help="Write figures.md and the plots here.")
    ] = None,
) -> None:
    """Measure ours beside four other ways to number tickets, on the model of AWS.

    Prints the targets, a table for each group of workloads, and the costs.
    Ends with status 0 whether or not the targets are met.
    """
    cells = {*chain.from_iterable(GROUPS.values())}
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task(
            "runs", total=sum(runs_of(cell, seeds) for cell in cells)
        )
        results = measure(cells, seeds, scale, lambda: progress.advance(task))
    page = report(results)
    typer.echo(page)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        (out / "figures.md").write_text(page, encoding="utf-8")
        draw(results, out)


if __name__ == "__main__":
    app()
