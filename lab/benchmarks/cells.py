"""The measurements: contenders with workloads, in runs side by side."""

import multiprocessing
import signal
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console
from rich.progress import track

from benchmarks.contenders import OURS
from benchmarks.counting import Figures, mean_of
from benchmarks.model_run import CEILING, play
from benchmarks.workloads import Workload, overhead_of

WORKERS: Final = (100, 10, 2, 1)
OVERHEAD: Final = overhead_of(10)
NO_OVERHEAD: Final = (0.0, 0.0)


STEP: Final = 10
"""Runs between two lines of progress, where no terminal shows a bar."""


@dataclass(frozen=True)
class Cell:
    """One contender with one workload."""

    contender: str
    workload: Workload


Results = Mapping[Cell, Figures]
"""The mean of every cell's runs."""


def hot(workers: int, overhead: tuple[float, float] = OVERHEAD) -> Workload:
    """Return one hot project, of which there is always more."""
    return Workload(workers, overhead=overhead)


CALM: Final = Workload(workers=1, rate=10.0, sent_together=10)
CALM_PROJECTS: Final = replace(CALM, projects=10)
TWICE: Final = Workload(workers=1, burst=10, redelivered=1.0)
COLD_BURST: Final = Workload(burst=100, overhead=OVERHEAD)
ONE_BY_ONE: Final = Workload(rate=CEILING / 2, overhead=OVERHEAD)
IN_TENS: Final = replace(ONE_BY_ONE, sent_together=10)
SINGLY: Final = Workload(workers=1, batch_size=1, rate=10.0, overhead=overhead_of(1))
REDELIVERED: Final = Workload(redelivered=0.1, overhead=OVERHEAD)
MANY_PROJECTS: Final = Workload(projects=1_000, overhead=overhead_of(10, projects=10))


def measure(cells: Collection[Cell], seeds: int, scale: float = 1.0) -> Results:
    """Measure on all processors.

    Args:
        cells: The measurements.
        seeds: Runs of each of the worker's cells; it alone adapts, and varies much.
        scale: Length of the runs, as a share of the usual.
    """
    runs = [
        (cell, seed, scale)
        for cell in cells
        for seed in range(1, 1 + (seeds if cell.contender == OURS else 1))
    ]
    # The longest first, so that no processor is left with one at the end.
    runs.sort(key=lambda run: run[0].workload.workers, reverse=True)
    found: dict[Cell, list[Figures]] = {cell: [] for cell in cells}
    console = Console(stderr=True)
    # Ctrl-C is the parent's business.
    ignore = signal.SIGINT, signal.SIG_IGN
    with multiprocessing.get_context("spawn").Pool(None, signal.signal, ignore) as pool:
        played = pool.imap_unordered(_play, runs)
        shown = track(played, "runs", len(runs), console=console)
        for number, (cell, figures) in enumerate(shown, 1):
            found[cell].append(figures)
            if number % STEP == 0 and not console.is_terminal:
                console.print(f"runs: {number} of {len(runs)}")
    return {cell: mean_of(figures) for cell, figures in found.items()}


def _play(run: tuple[Cell, int, float]) -> tuple[Cell, Figures]:
    cell, seed, scale = run
    return cell, play(cell.contender, cell.workload, seed, scale)
