"""What is to be shown: a claim has one table, and a row of it one measured cell."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from benchmarks import cells
from benchmarks.cells import Cell
from benchmarks.contenders import CONTENDERS, OURS
from benchmarks.costs import SERVICES, SUM, dollars
from benchmarks.figures import Figures
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
CONTENTION: Final = (
    "share of the ceiling",
    "attempts",
    "write units",
    "read units",
    "requests",
    "wait p50 / p99 / max, s",
    "starved",
)
ARRIVALS: Final = (
    "attempts",
    "write units",
    "requests",
    "wait p50 / p99 / max, s",
    "p99 from sending, s",
    SUM,
)


@dataclass(frozen=True)
class Claim:
    """A table."""

    title: str
    columns: Sequence[str]
    rows: Mapping[str, Cell]


def ours(workloads: Mapping[str, Workload]) -> Mapping[str, Cell]:
    """Return a row for each workload."""
    return {label: Cell(OURS, workload) for label, workload in workloads.items()}


def all_contenders(workloads: Mapping[str, Workload]) -> Mapping[str, Cell]:
    """Return a row for each workload and contender."""
    return {
        ", ".join(filter(None, (name, label))): Cell(name, workload)
        for label, workload in workloads.items()
        for name in CONTENDERS
    }


def setting(**options: Any) -> Workload:
    """Return one hot project with other settings than the default."""
    size = options.get("batch_size", 10)
    return Workload(overhead=overhead_of(size), **options)


SETTINGS: Final = {
    "the default": setting(),
    "MaximumConcurrency=2": setting(workers=2),
    "... BatchSize=20 MaximumBatchingWindow=1": setting(
        workers=2, batch_size=20, window=1.0
    ),
    "... BatchSize=50 MaximumBatchingWindow=1": setting(
        workers=2, batch_size=50, window=1.0
    ),
    "QueueType=fifo": setting(is_fifo=True),
    "the default, 1,000 projects": cells.MANY_PROJECTS,
}

CLAIMS: Final = (
    Claim(
        "One hot project, 20 ms of overhead a batch",
        CONTENTION,
        ours(
            {
                f"N = {workers}": cells.hot(workers, cells.OVERHEAD)
                for workers in cells.WORKERS
            }
        ),
    ),
    Claim(
        "One hot project, no overhead",
        CONTENTION,
        ours(
            {
                f"N = {workers}": cells.hot(workers, cells.NO_OVERHEAD)
                for workers in cells.WORKERS
            }
        ),
    ),
    Claim(
        "One hot project, compared with other algorithms",
        ("requests", "write units", "share of the ceiling"),
        all_contenders(
            {f"N = {workers}": cells.hot(workers) for workers in cells.WORKERS}
        ),
    ),
    Claim(
        "A tenth delivered again after it was done, N = 10",
        ("requests", "write units", "second tickets"),
        all_contenders({"": cells.REDELIVERED}),
    ),
    Claim(
        "Settings, more messages than the workers can take",
        ("tickets a second", *ARRIVALS),
        ours(SETTINGS),
    ),
    Claim(
        "Settings, messages one by one at half the ceiling",
        ARRIVALS,
        ours(
            {
                label: replace(workload, rate=CEILING / 2)
                for label, workload in SETTINGS.items()
            }
            | {"the default, messages in tens": cells.IN_TENS}
        ),
    ),
    Claim(
        "Ten full batches wait when the workers start, 20 ms of overhead a batch",
        ("attempts", "write units", "requests", "wait p50 / p99 / max, s"),
        ours(
            {
                f"{kind}, N = {workers}": replace(
                    cells.COLD_BURST, workers=workers, is_fifo=kind == "FIFO"
                )
                for workers in (10, 5, 2)
                for kind in ("standard", "FIFO")
            }
        ),
    ),
    Claim(
        "Undisturbed",
        ("attempts", "write units", "requests", "wait p50 / p99 / max, s"),
        ours(
            {
                "a batch of one project": cells.CALM,
                "a batch of ten projects": cells.CALM_PROJECTS,
                "a batch that comes twice": cells.TWICE,
            }
        ),
    ),
    Claim(
        "Dollars for a million tickets",
        SERVICES,
        all_contenders(
            {
                "ten workers on one project": cells.hot(10),
                "one worker, full batches": cells.hot(1),
                "many projects": cells.MANY_PROJECTS,
                "single messages": cells.SINGLY,
            }
        ),
    ),
)
