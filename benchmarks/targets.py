"""What ours must reach, and whether it does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import mean
from typing import Final

from benchmarks.cells import Cell, limits_of, target_cells
from benchmarks.contenders import OURS, TEXTBOOK
from benchmarks.measurement import Measurement
from benchmarks.model import CEILING
from benchmarks.store import Results
from benchmarks.workload import Workload

BATCH: Final = 10
"""Messages; the calm workloads have no other."""


class NotMeasuredError(Exception):
    """A figure is asked for that is not there."""


@dataclass(frozen=True)
class Target:
    """A bound, and what was measured."""

    name: str
    bound: float
    measured: float
    at_least: bool = False
    """Whether the bound is the least, not the most."""

    @property
    def is_met(self) -> bool:
        """Whether the figure is within the bound."""
        if self.at_least:
            return self.measured >= self.bound
        return round(self.measured, 3) <= self.bound


class Figures:
    """The measurements that the targets speak of, by what they are measured for."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._cells = [*target_cells()]

    def of(self, cell: Cell) -> Measurement:
        """Return a cell's measurement.

        Raises:
            NotMeasuredError: It is not.
        """
        found = self._results.get(cell)
        if found is None:
            raise NotMeasuredError(cell.workload.title)
        return found

    def group(self, name: str, accept: Callable[[Cell], bool]) -> list[Measurement]:
        """Return what was measured for a purpose, of the cells that are accepted."""
        cells = [each for each in self._cells if each.group == name and accept(each)]
        return [self.of(each) for each in cells]

    def hot(self, contender: str, workers: int) -> list[Measurement]:
        """Return one hot project with so many workers, of every seed."""
        limits = limits_of(contender, workers)
        first = self.of(Cell("", contender, Workload(workers), limits))
        if contender != OURS:
            return [first]
        wanted = Workload(workers)
        return [first, *self.group("workers", lambda each: each.workload == wanted)]


def targets(results: Results) -> Iterator[Target]:
    """Yield every target.

    Raises:
        NotMeasuredError: Something is not measured.
    """
    figures = Figures(results)
    yield from _calm(figures)
    yield from _hot(figures)
    yield from _half(figures)


def _calm(figures: Figures) -> Iterator[Target]:
    one, ten, twice = figures.group("calm", lambda _: True)
    textbook = figures.hot(TEXTBOOK, 1)[0]
    yield Target("requests a ticket, N = 1", 0.3, one.requests_a_ticket)
    yield Target("write units a ticket, N = 1", 4.0, one.write_units_a_ticket)
    yield Target(
        "requests a ticket, N = 1, by the textbook's",
        0.1,
        one.requests_a_ticket / textbook.requests_a_ticket,
    )
    wall = ten.batches["p50"] / one.batches["p50"]
    yield Target("wall time, ten projects in a batch by one", 1.3, wall)
    again = twice.tickets / BATCH
    looked_up = twice.requests.get("batch_get_item", 0) / again
    # A first delivery reads once at most; what is beyond that is the second's.
    read_too = max(0.0, twice.requests.get("query", 0) / again - 1)
    publishes = twice.requests["publish_batch"] / again
    yield Target("reads of a batch that was done before", 1.0, looked_up + read_too)
    yield Target(
        "write units a ticket of a batch that was done before",
        0.0,
        twice.write_units_a_ticket - one.write_units_a_ticket,
    )
    yield Target("PublishBatch of a batch that was done before", 1.0, publishes - 1)


def _hot(figures: Figures) -> Iterator[Target]:
    for workers, share, attempts in ((10, 0.85, 1.5), (100, 0.75, 3.0)):
        found = figures.hot(OURS, workers)
        throughput = mean(each.tickets_a_second for each in found) / CEILING
        yield Target(
            f"share of the ceiling, N = {workers}", share, throughput, at_least=True
        )
        tries = mean(each.attempts["mean"] for each in found)
        yield Target(f"attempts a block, N = {workers}", attempts, tries)
    failed = sum(each.failed + each.timeouts for each in found)
    yield Target("messages starved in an invocation, N = 100", 0, failed)
    textbook = figures.hot(TEXTBOOK, 100)[0].requests_a_ticket
    ours = mean(each.requests_a_ticket for each in found)
    yield Target(
        "textbook's requests by ours, N = 100", 30.0, textbook / ours, at_least=True
    )


def _half(figures: Figures) -> Iterator[Target]:
    one = figures.group("calm", lambda _: True)[0]
    half = figures.group("half", lambda _: True)
    # The last of them is that of single messages.
    for found, pattern in ((half[:-1], "batches of ten"), (half[-1:], "one by one")):
        p99 = mean(each.waits["p99"] for each in found)
        yield Target(
            f"p99 to announced at half the ceiling, by a calm batch's; {pattern}",
            10.0,
            p99 / one.waits["p99"],
        )
