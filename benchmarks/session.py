"""`ticketctl bench`: measures, shows, draws."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

from benchmarks.cells import Cell, all_cells
from benchmarks.contenders import CONTENDERS, DESCRIPTIONS
from benchmarks.plots import draw
from benchmarks.report import Grid, grids, target_grid
from benchmarks.runner import run
from benchmarks.store import RESULTS, Results
from benchmarks.targets import NotMeasuredError
from ticketctl.cli.errors import ToolError

OUT: Final = RESULTS / "out"
HEADING: Final = """# Figures

Written by `make bench-docs`; what they mean is in `performance.md`.
Requests, write units and read units are those of a ticket.
Attempts are mean / p50 / p99 / max, of a block or of a ticket that was written.
Waits are p50 / p99, in seconds from receive to announced."""

INTERRUPTED: Final = 130
"""As a shell has it for Ctrl-C."""

Measure = Callable[[Sequence[Cell], Results, Callable[[Cell], None]], None]
"""Measures what is missing, and tells of each cell that is done."""


@dataclass(frozen=True)
class Wishes:
    """What somebody wants to have measured, and how it is to be shown."""

    contenders: Sequence[str]
    full: bool
    as_json: bool
    out: Path | None
    """Where tables and plots go."""


def bench(
    wishes: Wishes, results: Results | None = None, measure: Measure = run
) -> int:
    """Measure, show, draw; return the exit status.

    Raises:
        ToolError: There is no such contender, or no emulator.
    """
    if unknown := {*wishes.contenders} - {*CONTENDERS}:
        message = f"no contender {', '.join(sorted(unknown))}: {', '.join(CONTENDERS)}"
        raise ToolError(message)
    console = Console(highlight=False)
    results = results or Results.load()
    cells = all_cells(wishes.contenders, full=wishes.full)
    try:
        _measure(cells, results, measure)
    except KeyboardInterrupt:
        kept = len(cells) - len(results.missing(cells))
        told = f"interrupted; {kept} of {len(cells)} figures are kept"
        Console(stderr=True, highlight=False).print(told)
        return INTERRUPTED
    if wishes.as_json:
        _print_json(cells, results)
        return 0
    tables = _tables(cells, results)
    for table in tables:
        table.show(console)
    directory = wishes.out or OUT
    plots = draw(results, directory)
    _write(directory / "figures.md", tables)
    console.print(f"all figures, and {len(plots)} plots: {directory}")
    return 0


def _measure(cells: list[Cell], results: Results, measure: Measure) -> None:
    missing = results.missing(cells)
    columns = (
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("measuring", total=len(cells))
        progress.advance(task, len(cells) - len(missing))

        def done(cell: Cell) -> None:
            what = f"{cell.contender}: {cell.workload.title}"
            progress.update(task, description=what, advance=1)

        measure(cells, results, done)


def _tables(cells: list[Cell], results: Results) -> list[Grid]:
    tables = [*grids(results, cells)]
    with suppress(NotMeasuredError):  # Not every contender was asked for.
        tables.insert(0, target_grid(results))
    return tables


def _write(path: Path, tables: list[Grid]) -> None:
    contenders = [f"- {name}: {text}." for name, text in DESCRIPTIONS.items()]
    parts = [HEADING, "\n".join(contenders), *(each.markdown() for each in tables)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(parts), encoding="utf-8")


def _print_json(cells: list[Cell], results: Results) -> None:
    found = [
        {"cell": cell.to_json(), "measurement": measurement.to_json()}
        for cell in cells
        if (measurement := results.get(cell))
    ]
    print(json.dumps(found, indent=2))  # noqa: T201 - for a pipe.
