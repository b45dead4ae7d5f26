"""The measurements: contenders with workloads, in parallel runs."""

from collections.abc import Collection
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console
from rich.progress import track

from benchmarks import workloads
from benchmarks.contenders import QUEUEING
from benchmarks.counting import Figures, mean_of
from benchmarks.model_run import play
from benchmarks.profiles import Profile
from benchmarks.workloads import COLD_START, HOT, ZIPF, Workload

WORKERS: Final = (100, 10, 2, 1)

STEP: Final = 10
"""The runs between two lines of progress, if no terminal shows a bar."""


@dataclass(frozen=True)
class Cell:
    """One contender with one workload."""

    contender: str
    workload: Workload


Results = dict[Cell, Figures]
"""The mean of every cell's runs."""


def hot(workers: int) -> Workload:
    """Return a workload of one hot project that never runs out."""
    return Workload(workers)


RECOMMENDED: Final = Workload(2, batch_size=35, window=1.0)
FIFO: Final = Workload(queue=workloads.FIFO)
ZIPF_PROJECTS: Final = Workload(projects=len(ZIPF), weights=ZIPF)
BESIDE_HOT: Final = Workload(
    projects=len(HOT), weights=HOT, rate=200.0, queue=workloads.FAIR
)
CALM: Final = Workload(1, rate=10.0, sent_together=10, has_overhead=False)
CALM_PROJECTS: Final = replace(CALM, projects=10)
TWICE: Final = Workload(1, burst=10, redelivered=1.0, has_overhead=False)
COLD_BURST: Final = Workload(burst=100, cold_start=COLD_START)
SINGLY: Final = Workload(1, batch_size=1, rate=10.0)
REDELIVERED: Final = Workload(redelivered=0.1)
MANY_PROJECTS: Final = Workload(projects=1_000)


def measure(
    pool: Executor, cells: Collection[Cell], profile: Profile, seeds: int, scale: float
) -> Results:
    """Measure in parallel, at a scale of the usual length.

    Only the worker's cells have several seeds: it alone adapts, and varies much.
    """
    runs = [
        (cell, profile, seed, scale)
        for cell in cells
        for seed in range(1, 1 + (seeds if cell.contender in QUEUEING else 1))
    ]
    # The longest first, so that no processor is left with one at the end.
    runs.sort(key=lambda run: run[0].workload.workers, reverse=True)
    by_cell: dict[Cell, list[Figures]] = {cell: [] for cell in cells}
    console = Console(stderr=True)
    shown = track(pool.map(_play, runs), "runs", len(runs), console=console)
    for number, (cell, figures) in enumerate(shown, 1):
        by_cell[cell].append(figures)
        if number % STEP == 0 and not console.is_terminal:
            console.print(f"runs: {number} of {len(runs)}")
    return {cell: mean_of(figures) for cell, figures in by_cell.items()}


def _play(run: tuple[Cell, Profile, int, float]) -> tuple[Cell, Figures]:
    cell, profile, seed, scale = run
    return cell, play(cell.contender, cell.workload, profile, seed, scale)
