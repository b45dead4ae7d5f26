"""What is measured: groups of contenders and workloads, one table each."""

import multiprocessing
import signal
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.contenders import CONTENDERS, OURS, TEXTBOOK
from benchmarks.figures import Figures, mean_of
from benchmarks.model_run import CEILING, play
from benchmarks.workloads import Workload, overhead_of

WORKERS: Final = (1, 2, 10, 100)
BURST_WORKERS: Final = (1, 2, 5, 10)
BESIDE: Final = overhead_of(10)
NOTHING: Final = (0.0, 0.0)


@dataclass(frozen=True)
class Cell:
    """One contender with one workload."""

    contender: str
    workload: Workload


Results = Mapping[Cell, Figures]
"""The mean of every cell's runs."""


def hot(workers: int, overhead: tuple[float, float] = BESIDE) -> Workload:
    """Return one hot project, of which there is always more."""
    return Workload(workers, overhead=overhead)


CALM: Final = Workload(workers=1, rate=10.0, sent_together=10)
CALM_PROJECTS: Final = replace(CALM, projects=10)
TWICE: Final = Workload(workers=1, burst=10, redelivered=1.0)
ONE_BY_ONE: Final = Workload(rate=CEILING / 2, overhead=BESIDE)
IN_TENS: Final = replace(ONE_BY_ONE, sent_together=10)
BURST: Final = Workload(burst=100)
SINGLY: Final = Workload(workers=1, batch_size=1, rate=10.0, overhead=overhead_of(1))
AGAIN: Final = Workload(redelivered=0.1, overhead=BESIDE)
MANY_PROJECTS: Final = Workload(projects=1_000, overhead=BESIDE)

HEADLINES: Final = frozenset(
    (
        *(hot(workers) for workers in WORKERS),
        *(hot(workers, NOTHING) for workers in WORKERS),
        ONE_BY_ONE,
        IN_TENS,
    )
)
FEW_SEEDS: Final = 2


def _ours(*workloads: Workload) -> list[Cell]:
    return [Cell(OURS, workload) for workload in workloads]


def _everybody(*workloads: Workload) -> list[Cell]:
    return [Cell(name, workload) for name in CONTENDERS for workload in workloads]


GROUPS: Final[Mapping[str, Sequence[Cell]]] = {
    "One hot project, 20 ms beside the requests of a batch": _everybody(
        *(hot(workers) for workers in WORKERS)
    ),
    "One hot project, nothing beside the requests": [
        Cell(name, hot(workers, NOTHING))
        for name in (OURS, TEXTBOOK)
        for workers in WORKERS
    ],
    "Arrivals at half the ceiling": _ours(
        *(replace(ONE_BY_ONE, workers=workers) for workers in (10, 2)),
        IN_TENS,
        replace(IN_TENS, is_fifo=True),
        replace(ONE_BY_ONE, overhead=NOTHING),
        replace(IN_TENS, overhead=NOTHING),
    ),
    "FIFO queue, one hot project": _ours(
        *(replace(hot(workers), is_fifo=True) for workers in WORKERS[:3])
    ),
    "Cold burst: ten full batches wait when the workers start": _ours(
        *(
            replace(BURST, workers=workers, is_fifo=is_fifo)
            for workers in BURST_WORKERS
            for is_fifo in (False, True)
        )
    ),
    "Undisturbed: a batch now and then": _ours(CALM, CALM_PROJECTS, TWICE),
    "Single messages now and then": _everybody(SINGLY),
    "One hot project, small and large batches": _ours(
        *(
            replace(hot(10), batch_size=size, overhead=overhead_of(size))
            for size in (1, 50)
        )
    ),
    "Many projects": _everybody(MANY_PROJECTS),
    "A tenth delivered again after it was done": _everybody(AGAIN),
}


def measure(
    cells: Collection[Cell],
    seeds: int,
    scale: float = 1.0,
    on_run: Callable[[], None] = lambda: None,
) -> Results:
    """Measure on all processors.

    Args:
        cells: What to measure.
        seeds: Runs of each headline cell.
        scale: Length of the runs, as a share of the usual.
        on_run: Is called after each run.
    """
    runs = [
        (cell, seed, scale)
        for cell in cells
        for seed in range(1, 1 + runs_of(cell, seeds))
    ]
    # The longest first, so that no processor is left with one at the end.
    runs.sort(key=lambda run: run[0].workload.workers, reverse=True)
    found: dict[Cell, list[Figures]] = {cell: [] for cell in cells}
    for cell, figures in _played(runs):
        found[cell].append(figures)
        on_run()
    return {cell: mean_of(figures) for cell, figures in found.items()}


def runs_of(cell: Cell, seeds: int) -> int:
    """Return how many runs a cell has: contention of ours differs most by chance."""
    if cell.contender != OURS:
        return 1
    is_headline = cell.workload in HEADLINES
    return seeds if is_headline else min(seeds, FEW_SEEDS)


def _played(
    runs: Sequence[tuple[Cell, int, float]],
) -> Iterator[tuple[Cell, Figures]]:
    # Ctrl-C is the parent's business.
    ignore = signal.SIGINT, signal.SIG_IGN
    with multiprocessing.get_context("spawn").Pool(None, signal.signal, ignore) as pool:
        yield from pool.imap_unordered(_play, runs)


def _play(run: tuple[Cell, int, float]) -> tuple[Cell, Figures]:
    cell, seed, scale = run
    return cell, play(cell.contender, cell.workload, seed, scale)
