"""What ours must reach, and whether it does."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks import cells
from benchmarks.cells import Cell, Results
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

    def ours(workload: Workload) -> Figures:
        return results[Cell(OURS, workload)]

    for workers, share in ((2, 0.85), (10, 0.80), (100, 0.72)):
        reached = ours(cells.hot(workers)).tickets_a_second / CEILING
        name = f"share of the ceiling, N = {workers}"
        yield Target(name, share, reached, is_least=True)
    yield Target("attempts a block, N = 2", 1.1, ours(cells.hot(2)).attempts)
    yield Target("attempts a block, N = 10", 1.6, ours(cells.hot(10)).attempts)
    yield Target("write units a ticket, N = 10", 5.5, ours(cells.hot(10)).write_units)
    yield Target("messages starved, N = 100", 0, ours(cells.hot(100)).starved)
    yield Target("requests a ticket, N = 1", 0.3, ours(cells.hot(1)).requests)
    # Of a block at the edge of the window the tickets may count without the units.
    units = round(ours(cells.hot(1)).write_units, 1)
    yield Target("write units a ticket, N = 1", 4.0, units)

    calm = ours(cells.CALM)
    singly = ours(replace(cells.ONE_BY_ONE, workers=2)).p99 / calm.p99
    yield Target("p99 by a calm batch's, one by one, N = 2", 3.0, singly)
    tens = ours(cells.IN_TENS).p99 / calm.p99
    yield Target("p99 by a calm batch's, in tens, N = 10", 10.0, tens)
    wall = ours(cells.CALM_PROJECTS).batch_seconds / calm.batch_seconds
    yield Target("time of a batch of ten projects by that of one", 1.3, wall)
    twice = ours(cells.TWICE)
    yield Target("reads of a batch that was done before", 1, twice.lookups * BATCH)
    written = twice.write_units - calm.write_units
    yield Target("write units of a batch that was done before", 0, written)

    for workers, least in ((1, 10), (100, 30)):
        textbook = results[Cell(TEXTBOOK, cells.hot(workers))].requests
        ratio = textbook / ours(cells.hot(workers)).requests
        name = f"textbook's requests by ours, N = {workers}"
        yield Target(name, least, ratio, is_least=True)
