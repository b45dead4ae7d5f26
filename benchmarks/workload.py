"""What the contenders are given to do, and for how long."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, count
from random import Random

ZIPF_EXPONENT = 1.0
"""The n-th busiest project gets 1/n of what the busiest gets."""

TRANSACTION_SECONDS = (0.005, 0.011)
"""What a transaction takes besides its call, and its items' locks and commits.

These are 7 ms, so that it takes 12 to 18 ms in all.
"""


@dataclass(frozen=True)
class Workload:
    """Who sends how much, and how it reaches the workers."""

    workers: int = 10
    """Batches worked on at a time, at most."""
    batch_size: int = 10
    projects: int = 1
    is_zipf: bool = False
    """Whether few projects get most of the tickets, or all get the same."""
    is_in_turn: bool = False
    """Whether the projects follow each other, so that a batch has one of each."""
    redelivered: float = 0.0
    """Share of the messages that are delivered once more after they were done."""
    rate: float | None = None
    """Messages a second; none: there is always more than the workers can take."""
    sent_together: int = 1
    """Messages that arrive at the same moment, where there is a rate."""
    is_fifo: bool = False
    transaction: tuple[float, float] = TRANSACTION_SECONDS
    overhead: float = 0.0
    """Seconds that Lambda and the function's own work take for each batch."""

    @property
    def title(self) -> str:
        """Name it in a few words."""
        skew = " (Zipf)" if self.is_zipf else ""
        projects = "one project" if self.projects == 1 else f"{self.projects} projects"
        return f"{projects}{skew}, batch {self.batch_size}, N = {self.workers}"


@dataclass(frozen=True)
class Limits:
    """How long a run is, in the seconds of the virtual clock."""

    warm_up: float = 1.0
    """What happens before is not counted."""
    warm_up_requests: int = 1_000_000
    """After so many the warm-up ends too, if they are counted first."""
    seconds: float = 10.0
    requests: int = 8_000
    """After so many it ends too, if they are counted first."""
    workers_a_second: float | None = None
    """How fast Lambda adds workers to the first five; none: all start together."""


def bodies(workload: Workload, random: Random) -> Iterator[tuple[str, str, str]]:
    """Yield create-ticket messages without end: the project, the key, the body."""
    ranks = range(1, workload.projects + 1)
    weights = [rank**-ZIPF_EXPONENT if workload.is_zipf else 1.0 for rank in ranks]
    cumulative = [*accumulate(weights)]
    for serial in count(1):
        if workload.is_in_turn:
            rank = 1 + serial % workload.projects
        else:
            (rank,) = random.choices(ranks, cum_weights=cumulative)
        project, key = f"P{rank}", f"key-{serial}"
        content = {
            "project_id": project,
            "idempotency_key": key,
            "title": "a ticket of the benchmark",
        }
        yield project, key, json.dumps(content)
