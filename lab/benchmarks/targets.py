"""The targets: the bounds that the worker's figures shall keep."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from benchmarks import cells
from benchmarks.cells import WORKERS, hot
from benchmarks.contenders import TEXTBOOK
from benchmarks.counting import Figures


@dataclass(frozen=True)
class Target:
    """A bound of a figure."""

    name: str
    bound: float
    figure: Callable[[Callable[..., Figures]], float]
    """Takes a function that returns the figures of a workload, and of a contender."""
    is_least: bool = False
    """Whether the bound is the least, not the most."""

    def is_met(self, measured: float) -> bool:
        """Tell whether a figure is within the bound."""
        if self.is_least:
            return measured >= self.bound
        return round(measured, 2) <= self.bound


def _by_textbook(workers: int, least: float) -> Target:
    return Target(
        f"textbook's requests by ours, N = {workers}",
        least,
        lambda of: of(hot(workers), TEXTBOOK).requests / of(hot(workers)).requests,
        is_least=True,
    )


TARGETS: Final = (
    Target(
        "tickets a second, recommended settings",
        440,
        lambda of: of(cells.RECOMMENDED).tickets_a_second,
        is_least=True,
    ),
    Target(
        "write units, recommended settings",
        4.6,
        lambda of: of(cells.RECOMMENDED).write_units,
    ),
    # Of a block at the edge of the window the tickets may count without the units.
    Target("write units, FIFO", 4.0, lambda of: round(of(cells.FIFO).write_units, 1)),
    Target(
        "messages starved, N = 1 to 100",
        0,
        lambda of: sum(of(hot(workers)).starved for workers in WORKERS),
    ),
    Target(
        "p99 of the quiet beside a hot one, fair, s",
        0.3,
        lambda of: of(cells.BESIDE_HOT).p99_of_quiet,
    ),
    Target("requests of an undisturbed batch", 0.3, lambda of: of(cells.CALM).requests),
    Target("its write units", 4.0, lambda of: of(cells.CALM).write_units),
    Target(
        "time of a batch of ten projects by that of one",
        1.8,  # The slowest of ten transactions decides.
        lambda of: of(cells.CALM_PROJECTS).batch_seconds / of(cells.CALM).batch_seconds,
    ),
    Target(
        "reads of a batch that was done before",
        1,
        lambda of: of(cells.TWICE).lookups * cells.TWICE.batch_size,
    ),
    Target(
        "write units of a batch that was done before",
        0,
        lambda of: of(cells.TWICE).write_units - of(cells.CALM).write_units,
    ),
    *(_by_textbook(workers, least) for workers, least in ((1, 10.0), (100, 30.0))),
)
