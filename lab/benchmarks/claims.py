"""The published tables: one per claim, one measurement per row; and the targets."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from benchmarks import cells
from benchmarks.cells import WORKERS, Cell, Results, hot
from benchmarks.contenders import CONTENDERS, OURS, TEXTBOOK
from benchmarks.costs import SERVICES, SUM, dollars
from benchmarks.counting import Figures
from benchmarks.model_run import CEILING
from benchmarks.workloads import Workload, overhead_of


def _dollars_column(service: str) -> Callable[[Figures], str]:
    return lambda found: f"{dollars(found)[service]:.2f}"


COLUMNS: Final[Mapping[str, Callable[[Figures], str]]] = {
    "share of the ceiling": lambda found: f"{found.tickets_a_second / CEILING:.0%}",
    "tickets a second": lambda found: f"{found.tickets_a_second:.0f}",
    "attempts": lambda found: f"{found.attempts:.2f}",
    "write units": lambda found: f"{found.write_units:.2f}",
    "read units": lambda found: f"{found.read_units:.2f}",
    "requests": lambda found: f"{found.requests:.2f}",
    "wait p50 / p99 / max, s": lambda found: (
        f"{found.p50:.3f} / {found.p99:.3f} / {found.longest:.2f}"
    ),
    "p99 from sending, s": lambda found: f"{found.p99_from_sending:.3f}",
    "starved": lambda found: str(found.starved),
    "second tickets": lambda found: f"{found.duplicates:.1%}",
    **{service: _dollars_column(service) for service in SERVICES},
}
EFFORT: Final = ("attempts", "write units", "requests", "wait p50 / p99 / max, s")
CONTENTION: Final = (
    "share of the ceiling",
    "attempts",
    "write units",
    "read units",
    "requests",
    "wait p50 / p99 / max, s",
    "starved",
)
ARRIVALS: Final = (*EFFORT, "p99 from sending, s", SUM)


@dataclass(frozen=True)
class Claim:
    """A table."""

    title: str
    columns: Sequence[str]
    rows: Mapping[str, Workload]
    """The workload of each row; with several contenders, of a row for each."""
    contenders: Sequence[str] = (OURS,)

    @property
    def cells(self) -> Mapping[str, Cell]:
        """The measurement of each row."""
        return {
            ", ".join(filter(None, (name, label))): Cell(contender, workload)
            for label, workload in self.rows.items()
            for contender in self.contenders
            for name in [contender if len(self.contenders) > 1 else ""]
        }


def _setting(**options: Any) -> Workload:
    """Return one hot project with other settings than the default."""
    return Workload(overhead=overhead_of(options.get("batch_size", 10)), **options)


_CONTENDERS: Final = tuple(CONTENDERS)
_WITH_OVERHEAD: Final = {f"N = {workers}": hot(workers) for workers in WORKERS}
_SETTINGS: Final = {
    "the default": _setting(),
    "MaximumConcurrency=2": _setting(workers=2),
    "... BatchSize=20 MaximumBatchingWindow=1": _setting(
        workers=2, batch_size=20, window=1.0
    ),
    "... BatchSize=50 MaximumBatchingWindow=1": _setting(
        workers=2, batch_size=50, window=1.0
    ),
    "QueueType=fifo": _setting(is_fifo=True),
    "the default, 1,000 projects": cells.MANY_PROJECTS,
}

CLAIMS: Final = (
    Claim("One hot project, 20 ms of overhead a batch", CONTENTION, _WITH_OVERHEAD),
    Claim(
        "One hot project, no overhead",
        CONTENTION,
        {f"N = {workers}": hot(workers, cells.NO_OVERHEAD) for workers in WORKERS},
    ),
    Claim(
        "One hot project, compared with other algorithms",
        ("requests", "write units", "share of the ceiling"),
        _WITH_OVERHEAD,
        _CONTENDERS,
    ),
    Claim(
        "A tenth delivered again after it was done, N = 10",
        ("requests", "write units", "second tickets"),
        {"": cells.REDELIVERED},
        _CONTENDERS,
    ),
    Claim(
        "Settings, more messages than the workers can take",
        ("tickets a second", *ARRIVALS),
        _SETTINGS,
    ),
    Claim(
        "Settings, messages one by one at half the ceiling",
        ARRIVALS,
        {
            **{
                label: replace(setting, rate=CEILING / 2)
                for label, setting in _SETTINGS.items()
            },
            "the default, messages in tens": cells.IN_TENS,
        },
    ),
    Claim(
        "Ten full batches wait when the workers start, 20 ms of overhead a batch",
        EFFORT,
        {
            f"{kind}, N = {workers}": replace(
                cells.COLD_BURST, workers=workers, is_fifo=kind == "FIFO"
            )
            for workers in (10, 5, 2)
            for kind in ("standard", "FIFO")
        },
    ),
    Claim(
        "Undisturbed",
        EFFORT,
        {
            "a batch of one project": cells.CALM,
            "a batch of ten projects": cells.CALM_PROJECTS,
            "a batch that comes twice": cells.TWICE,
        },
    ),
    Claim(
        "Dollars for a million tickets",
        SERVICES,
        {
            "ten workers on one project": hot(10),
            "one worker, full batches": hot(1),
            "many projects": cells.MANY_PROJECTS,
            "single messages": cells.SINGLY,
        },
        _CONTENDERS,
    ),
)


@dataclass(frozen=True)
class Target:
    """A bound, and the measured value."""

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
        reached = ours(hot(workers)).tickets_a_second / CEILING
        name = f"share of the ceiling, N = {workers}"
        yield Target(name, share, reached, is_least=True)
    yield Target("attempts a block, N = 2", 1.1, ours(hot(2)).attempts)
    yield Target("attempts a block, N = 10", 1.6, ours(hot(10)).attempts)
    yield Target("write units a ticket, N = 10", 5.5, ours(hot(10)).write_units)
    yield Target("messages starved, N = 100", 0, ours(hot(100)).starved)
    yield Target("requests a ticket, N = 1", 0.3, ours(hot(1)).requests)
    # Of a block at the edge of the window the tickets may count without the units.
    units = round(ours(hot(1)).write_units, 1)
    yield Target("write units a ticket, N = 1", 4.0, units)

    calm = ours(cells.CALM)
    singly = ours(replace(cells.ONE_BY_ONE, workers=2)).p99 / calm.p99
    yield Target("p99 by a calm batch's, one by one, N = 2", 3.0, singly)
    tens = ours(cells.IN_TENS).p99 / calm.p99
    yield Target("p99 by a calm batch's, in tens, N = 10", 10.0, tens)
    wall = ours(cells.CALM_PROJECTS).batch_seconds / calm.batch_seconds
    yield Target("time of a batch of ten projects by that of one", 1.3, wall)
    twice = ours(cells.TWICE)
    yield Target(
        "reads of a batch that was done before",
        1,
        twice.lookups * cells.TWICE.batch_size,
    )
    written = twice.write_units - calm.write_units
    yield Target("write units of a batch that was done before", 0, written)

    for workers, least in ((1, 10), (100, 30)):
        textbook = results[Cell(TEXTBOOK, hot(workers))].requests
        ratio = textbook / ours(hot(workers)).requests
        name = f"textbook's requests by ours, N = {workers}"
        yield Target(name, least, ratio, is_least=True)
