"""Measures cells, as many at a time as there are processors."""

from collections.abc import Callable, Sequence

from benchmarks.cells import EMULATOR, Cell
from benchmarks.emulator_run import run_on_emulator
from benchmarks.measurement import Measurement
from benchmarks.processes import processes
from benchmarks.store import Results
from simulation.world import quiet
from ticketctl.local.emulator import running_emulator

Progress = Callable[[Cell], None]


def run(
    cells: Sequence[Cell], results: Results, progress: Progress = lambda _: None
) -> None:
    """Measure what is not measured yet; each figure is kept as soon as it is there.

    Raises:
        ToolError: The emulator cannot be started.
        KeyboardInterrupt: Somebody had enough; what was measured is kept.
    """
    missing = results.missing(cells)
    _run_on_model(
        [each for each in missing if each.place != EMULATOR], results, progress
    )
    _run_on_emulator(
        [each for each in missing if each.place == EMULATOR], results, progress
    )


def _run_on_model(cells: Sequence[Cell], results: Results, progress: Progress) -> None:
    # The longest first, so that no processor is left with one at the end.
    waiting = sorted(cells, key=lambda each: each.limits.warm_up, reverse=True)
    with processes() as pool:
        for cell, measurement in pool.imap_unordered(_played, waiting):
            results.put(cell, measurement)
            progress(cell)


def _played(cell: Cell) -> tuple[Cell, Measurement]:
    return cell, play(cell)


def play(cell: Cell) -> Measurement:
    """Measure one cell on the model, in silence."""
    with quiet():
        return cell.play()


def _run_on_emulator(
    cells: Sequence[Cell], results: Results, progress: Progress
) -> None:
    if not cells:
        return
    with running_emulator() as emulator:
        for number, cell in enumerate(cells):
            measurement = run_on_emulator(
                emulator.endpoint_url,
                f"run-{number}",
                cell.contender,
                cell.workload,
                cell.messages,
            )
            results.put(cell, measurement)
            progress(cell)
