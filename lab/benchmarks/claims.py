"""The published tables: one per claim, one measurement per row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from benchmarks import cells
from benchmarks.cells import WORKERS, Cell, hot
from benchmarks.contenders import CONTENDERS, OURS, TEXTBOOK
from benchmarks.costs import SERVICES, SUM, dollars
from benchmarks.counting import Figures
from benchmarks.workloads import FAIR, FIFO, STANDARD, Workload


def _dollars_column(service: str) -> Callable[[Figures], float]:
    return lambda figures: dollars(figures)[service]


COLUMNS: Final[Mapping[str, Callable[[Figures], float]]] = {
    "tickets a second": lambda figures: figures.tickets_a_second,
    "bound": lambda figures: figures.bound,
    "attempts": lambda figures: figures.attempts,
    "write units": lambda figures: figures.write_units,
    "read units": lambda figures: figures.read_units,
    "requests": lambda figures: figures.requests,
    "p50, s": lambda figures: figures.p50,
    "mean, s": lambda figures: figures.mean,
    "p99, s": lambda figures: figures.p99,
    "of the quiet, s": lambda figures: figures.p99_of_quiet,
    "starved": lambda figures: figures.starved,
    "second tickets, %": lambda figures: 100 * figures.duplicates,
    **{service: _dollars_column(service) for service in SERVICES},
}
EFFORT: Final = ("attempts", "write units", "requests", "p50, s", "p99, s")
SATURATED: Final = ("tickets a second", "bound", *EFFORT, "starved", SUM)


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


def _with(
    queues: Sequence[str], workloads: Mapping[str, Workload]
) -> dict[str, Workload]:
    """Return each workload with each of the queues."""
    return {
        f"{label}, {queue}": replace(workload, queue=queue)
        for label, workload in workloads.items()
        for queue in queues
    }


_CONTENDERS: Final = tuple(CONTENDERS)
_HOT: Final = {f"N = {workers}": hot(workers) for workers in WORKERS}
_SETTINGS: Final = {
    "the default, N = 10": hot(10),
    "MaximumConcurrency=2": hot(2),
    "... BatchSize=35 MaximumBatchingWindow=1": cells.RECOMMENDED,
    "QueueType=fifo": cells.FIFO,
}

CLAIMS: Final = (
    Claim(
        "One hot project, more messages than the workers can take",
        SATURATED,
        _SETTINGS | {"N = 100": hot(100), "N = 1": hot(1)},
    ),
    Claim(
        "One hot project, compared with other algorithms",
        ("requests", "write units", "tickets a second"),
        _HOT,
        _CONTENDERS,
    ),
    Claim(
        "A tenth delivered again after it was done, N = 10",
        ("requests", "write units", "second tickets, %"),
        {"": cells.REDELIVERED},
        _CONTENDERS,
    ),
    Claim(
        "1,000 projects, more messages than the workers can take",
        SATURATED,
        {
            "in turn, standard": cells.MANY_PROJECTS,
            **_with(
                (STANDARD, FAIR, FIFO),
                {
                    "by Zipf": cells.ZIPF_PROJECTS,
                    "by Zipf, N = 40": replace(cells.ZIPF_PROJECTS, workers=40),
                },
            ),
        },
    ),
    Claim(
        "60 messages a second of a hot project, 140 of 1,000 quiet ones",
        (*EFFORT, "of the quiet, s"),
        _with(
            (STANDARD, FAIR, FIFO),
            {
                f"N = {workers}": replace(cells.BESIDE_HOT, workers=workers)
                for workers in (20, 10, 2)
            },
        ),
    ),
    Claim(
        "One hot project, tickets as long as in Jira",
        SATURATED,
        {
            label: replace(setting, has_real_texts=True)
            for label, setting in _SETTINGS.items()
        },
    ),
    Claim(
        "Ten full batches wait when the workers start cold",
        EFFORT,
        _with(
            (STANDARD, FIFO),
            {
                f"N = {workers}": replace(cells.COLD_BURST, workers=workers)
                for workers in (10, 2)
            },
        ),
    ),
    Claim(
        "Undisturbed, without overhead",
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
            "many projects in turn": cells.MANY_PROJECTS,
            "single messages": cells.SINGLY,
        },
        (OURS, TEXTBOOK, "powertools"),
    ),
)
