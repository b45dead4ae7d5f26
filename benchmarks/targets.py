"""What ours must reach, and whether it does."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.cells import (
    BESIDE,
    CALM,
    CALM_PROJECTS,
    IN_TENS,
    NOTHING,
    ONE_BY_ONE,
    TWICE,
    Cell,
    Results,
    hot,
)
from benchmarks.contenders import OURS, TEXTBOOK
from benchmarks.figures import Figures
from benchmarks.model_run import CEILING
from benchmarks.workloads import Workload

BATCH = 10
"""Messages of a batch that comes twice."""


@dataclass(frozen=True)
class Target:
    """A bound, and what was measured."""

    name: str
    bound: float
    measured: float
    is_least: bool = False
    """Whether the bound is the least, not the most."""

    @property
    def is_met(self) -> bool:
        """Whether the figure is within the bound."""
        if self.is_least:
            return self.measured >= self.bound
        return round(self.measured, 2) <= self.bound


def targets(results: Results) -> Iterator[Target]:
    """Yield every target, the contended ones first."""
    ours = _Ours(results)
    for overhead, beside in ((BESIDE, "20 ms beside"), (NOTHING, "nothing beside")):
        yield from _hot(ours, overhead, beside)
        yield from _half(ours, overhead, beside)
    yield from _calm(ours, results[Cell(TEXTBOOK, hot(1, NOTHING))])
    textbook = results[Cell(TEXTBOOK, hot(100))].requests
    ratio = textbook / ours(hot(100)).requests
    yield Target("textbook's requests by ours, N = 100", 30.0, ratio, is_least=True)


@dataclass(frozen=True)
class _Ours:
    results: Results

    def __call__(self, workload: Workload) -> Figures:
        return self.results[Cell(OURS, workload)]


def _hot(ours: _Ours, overhead: tuple[float, float], beside: str) -> Iterator[Target]:
    for workers, share, attempts in ((10, 0.85, 1.5), (100, 0.75, 3.0)):
        found, case = ours(hot(workers, overhead)), f"N = {workers}, {beside}"
        reached = found.tickets_a_second / CEILING
        yield Target(f"share of the ceiling, {case}", share, reached, is_least=True)
        yield Target(f"attempts a block, {case}", attempts, found.attempts)
        yield Target(f"messages starved, {case}", 0, found.starved)


def _half(ours: _Ours, overhead: tuple[float, float], beside: str) -> Iterator[Target]:
    calm = ours(CALM).p99
    for workload, pattern in ((IN_TENS, "in tens"), (ONE_BY_ONE, "one by one")):
        found = ours(replace(workload, overhead=overhead))
        name = f"p99 at half the ceiling by a calm batch's, {pattern}, {beside}"
        yield Target(name, 10.0, found.p99 / calm)


def _calm(ours: _Ours, textbook: Figures) -> Iterator[Target]:
    one, ten, twice = ours(CALM), ours(CALM_PROJECTS), ours(TWICE)
    yield Target("requests a ticket, N = 1", 0.3, one.requests)
    yield Target(
        "requests a ticket, N = 1, by the textbook's",
        0.1,
        one.requests / textbook.requests,
    )
    yield Target("write units a ticket, N = 1", 4.0, one.write_units)
    wall = ten.batch_seconds / one.batch_seconds
    yield Target("time of a batch of ten projects by that of one", 1.3, wall)
    read = twice.lookups * BATCH
    yield Target("reads of a batch that was done before", 1.0, read)
    written = twice.write_units - one.write_units
    yield Target("write units of a batch that was done before", 0.0, written)
