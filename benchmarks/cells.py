"""What is measured: every contender on every workload, in full or in part."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any, Final

from benchmarks.contenders import CONTENDERS, OURS
from benchmarks.measurement import Measurement
from benchmarks.model import CEILING, ModelRun
from benchmarks.workload import Limits, Workload

WORKERS: Final = (1, 2, 5, 10, 20, 50, 100)
FIFO_WORKERS: Final = (1, 2, 5, 10)
"""More would wait: a group has one batch in flight."""

BATCH_SIZES: Final = (1, 10, 50)
PROJECTS: Final = ((1, False), (10, False), (10, True), (1_000, False), (1_000, True))
REDELIVERED: Final = (0.0, 0.01, 0.1)
EMULATOR_WORKERS: Final = (1, 4)
EMULATOR_WORKERS_IN_FULL: Final = (1, 2, 4, 8)
EMULATOR_MESSAGES: Final = 100

OTHER_TRANSACTIONS: Final = ((0.001, 0.005), (0.01, 0.016))
"""For transactions of 10 ms, and of 20 ms."""

OVERHEADS: Final = (0.005, 0.02)
"""What Lambda adds to a batch, and what 512 MB's share of a processor adds."""

MODEL: Final = "model"
EMULATOR: Final = "emulator"

WORKERS_A_SECOND: Final = 5.0
"""How fast Lambda adds workers: 300 a minute; Lambda guide, "SQS scaling"."""


@dataclass(frozen=True)
class Cell:
    """One contender with one workload, on the model or on the emulator."""

    group: str = field(compare=False)
    """What it is measured for."""
    contender: str
    workload: Workload
    limits: Limits = field(default_factory=Limits)
    place: str = MODEL
    messages: int = EMULATOR_MESSAGES
    """Sent on the emulator."""
    seed: int = 1

    def to_json(self) -> dict[str, Any]:
        """Return what tells it from every other cell."""
        return asdict(self)

    def play(self) -> Measurement:
        """Measure it on the model."""
        return ModelRun(self.contender, self.workload, self.limits, self.seed).run()


def limits_of(contender: str, workers: int) -> Limits:
    """Return how long to measure.

    Ours remembers how crowded it was, so it needs time to find its pace, and Lambda
    adds workers slowly. The others forget at once, and a second of them is much work.
    """
    if contender == OURS:
        warm_up = 4.0 + workers / WORKERS_A_SECOND
        return Limits(warm_up, 1_000_000, 10.0, 12_000, WORKERS_A_SECOND)
    return Limits(1.0, 4_000, 10.0, 6_000)


def _cell(group: str, contender: str, workload: Workload) -> Cell:
    return Cell(group, contender, workload, limits_of(contender, workload.workers))


def main_cells(contenders: Sequence[str]) -> Iterator[Cell]:
    """Yield what takes minutes: one thing varied at a time around the default."""
    for contender in contenders:
        for workers in WORKERS:
            yield _cell("workers", contender, Workload(workers))
        for batch_size in BATCH_SIZES[::2]:
            yield _cell("batch", contender, Workload(batch_size=batch_size))
        for projects, is_zipf in PROJECTS[1:]:
            workload = Workload(projects=projects, is_zipf=is_zipf)
            yield _cell("projects", contender, workload)
        for share in REDELIVERED[1:]:
            yield _cell("redelivered", contender, Workload(redelivered=share))


def full_cells(contenders: Sequence[str]) -> Iterator[Cell]:
    """Yield the whole product, which takes an hour or more."""
    everything = product(contenders, PROJECTS, BATCH_SIZES, WORKERS, REDELIVERED)
    for contender, (projects, is_zipf), batch_size, workers, share in everything:
        workload = Workload(
            workers, batch_size, projects, is_zipf=is_zipf, redelivered=share
        )
        yield _cell("everything", contender, workload)


def target_cells() -> Iterator[Cell]:
    """Yield what our own targets need besides."""
    calm = Workload(workers=1, rate=10.0, sent_together=10)
    limits = Limits(seconds=60.0)
    yield Cell("calm", OURS, calm, limits)
    yield Cell("calm", OURS, replace(calm, projects=10, is_in_turn=True), limits)
    yield Cell("calm", OURS, replace(calm, redelivered=1.0), limits)
    half = Workload(rate=CEILING / 2, sent_together=10)
    for seed in (1, 2, 3):
        long = Limits(4.0, seconds=40.0, requests=40_000)
        yield Cell("half", OURS, half, long, seed=seed)
    yield Cell("half", OURS, replace(half, sent_together=1), long)
    for workers in FIFO_WORKERS:
        workload = Workload(workers, is_fifo=True)
        yield replace(_cell("fifo", OURS, workload), limits=Limits())
    for workers, seconds in product((10, 100), OTHER_TRANSACTIONS):
        yield _cell("slower", OURS, Workload(workers, transaction=seconds))
    for workers, overhead in product((1, 10, 100), OVERHEADS):
        yield _cell("overhead", OURS, Workload(workers, overhead=overhead))
    yield Cell("fifo-half", OURS, replace(half, is_fifo=True), long)
    for seed in (2, 3):
        for workers in (10, 100):
            yield replace(_cell("workers", OURS, Workload(workers)), seed=seed)


def emulator_cells(contenders: Sequence[str], workers: Sequence[int]) -> Iterator[Cell]:
    """Yield what is measured on the emulator."""
    for contender, count in product(contenders, workers):
        yield Cell("emulator", contender, Workload(count), place=EMULATOR)


def all_cells(contenders: Sequence[str] = (), *, full: bool = False) -> list[Cell]:
    """Return the cells of these contenders, or of all, each once."""
    chosen = contenders or tuple(CONTENDERS)
    cells = [*main_cells(chosen)]
    cells += target_cells() if OURS in chosen else ()
    cells += full_cells(chosen) if full else ()
    cells += emulator_cells(
        chosen, EMULATOR_WORKERS_IN_FULL if full else EMULATOR_WORKERS
    )
    return [*dict.fromkeys(cells)]
