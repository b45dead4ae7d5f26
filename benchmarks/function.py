"""Measures the function as it ships: its start, its work for a record, its memory.

`python -m benchmarks.function`; it reaches no network and needs no account.
"""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.function_batches import Handled, events, handle, largest_event
from benchmarks.function_init import (
    Start,
    by_package,
    compare_starts,
    import_seconds,
    needless_modules,
)
from benchmarks.function_report import show
from benchmarks.function_site import shipped
from ticketctl.cli.errors import ToolError
from ticketctl.local.artifact import EMULATOR_PYTHON

MAX_START_RATIO = 1.3
MAX_MICROSECONDS = 150
MAX_MEGABYTES = 128

IMPORT_RUNS = 5
SIZES = (10, 1, 50)
LARGEST_BATCHES = 5


@dataclass(frozen=True)
class Measured:
    """All that was measured."""

    start: Start
    start_without_bytecode: Start
    imports: dict[str, float]
    """Seconds by module, the longest first."""
    needless: list[str]
    """Modules that a start loads and must not."""
    own: dict[int, Handled]
    """By the size of the batch; botocore is left out."""
    with_botocore: dict[int, Handled]
    largest: Handled

    def targets(self) -> list[dict[str, Any]]:
        """Return each target: its name, its bound, what was measured, and whether met.

        Memory counts from the runs with botocore, which need more.
        """
        ten = self.with_botocore[10].peak_megabytes
        bounds = [
            (
                "start, by boto3 and its clients",
                MAX_START_RATIO,
                self.start.ratio.median,
            ),
            (
                "own µs a record, batch of 10",
                MAX_MICROSECONDS,
                self.own[10].microseconds.median,
            ),
            ("peak MB, batches of 10", MAX_MEGABYTES, ten),
            ("peak MB, largest batch", MAX_MEGABYTES, self.largest.peak_megabytes),
            ("needless modules loaded", 0, len(self.needless)),
        ]
        return [
            {"name": name, "target": bound, "measured": value, "met": value <= bound}
            for name, bound, value in bounds
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return it for scripts."""
        packages = by_package(self.imports)
        return {"targets": self.targets(), "packages": packages} | asdict(self)


def measure(python: Path, pairs: int, batches: int) -> Measured:
    """Measure everything.

    Args:
        python: The interpreter that runs the function.
        pairs: Starts of each kind.
        batches: Batches of each size.

    Raises:
        ToolError: Something could not be measured.
    """
    with shipped(python, compiled=False) as bare:
        uncompiled = compare_starts(bare, max(pairs // 3, 1), bytecode=False)
    with shipped(python) as site:
        return Measured(
            start=compare_starts(site, pairs),
            start_without_bytecode=uncompiled,
            imports=import_seconds(site, IMPORT_RUNS),
            needless=needless_modules(site),
            own={size: handle(site, events(size, batches), "stub") for size in SIZES},
            with_botocore={
                size: handle(site, events(size, batches), "wire") for size in SIZES
            },
            largest=handle(site, [largest_event()] * LARGEST_BATCHES, "wire"),
        )


def main(
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print it for scripts.")
    ] = False,
    pairs: Annotated[int, typer.Option(min=2, help="Starts of each kind.")] = 15,
    batches: Annotated[int, typer.Option(min=1, help="Batches of each size.")] = 200,
    python: Annotated[
        Path, typer.Option(help="Interpreter, with pip, that runs the function.")
    ] = EMULATOR_PYTHON,
) -> None:
    """Measure the function's start, its work for a record, and its memory.

    Ends with status 0 whether or not the targets are met, and with 2 if something
    could not be measured.
    """
    try:
        measured = measure(python, pairs, batches)
    except ToolError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the one line it takes.
        raise typer.Exit(2) from error
    if as_json:
        print(json.dumps(measured.as_dict(), indent=2))  # noqa: T201 - for a pipe.
    else:
        show(measured.as_dict(), Console(highlight=False))


if __name__ == "__main__":
    typer.run(main)
