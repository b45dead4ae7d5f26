"""The workloads: arrivals, the settings of the queue, and the span of a run."""

import json
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, count
from statistics import mean
from typing import Any, Final

from benchmarks.profiles import PHASE, Distribution, Profile
from simulation.aws.items import WRITE_UNIT_BYTES
from simulation.aws.tables import PARTITION_UNITS
from simulation.aws.transactions import UNITS_FACTOR
from simulation.engine.choices import Choices

WORKERS_A_SECOND: Final = 5.0
"""The rate at which Lambda adds workers: 300 a minute; Lambda guide, "SQS scaling"."""

FIRST_WORKERS: Final = 5
"""The workers that Lambda starts with; Lambda guide, "SQS event source scaling"."""

STANDARD, FAIR, FIFO = "standard", "fair", "FIFO"
"""The queues; with a project as message group a standard one is fair."""

MIN_SECONDS: Final = 1.0
"""The bounds of a run with occasional batches."""

MAX_CALLS: Final = 8_000
MIN_CALLS: Final = 4_000
CALLS_A_WORKER: Final = 80
"""The bounds of a run that makes more calls than its figures need."""

UNTHROTTLED_TEXT: Final = 1_000
"""Characters; DynamoDB throttles longer ones, so a run of them must be longer."""

ZIPF: Final = tuple(1 / rank for rank in range(1, 1_001))
"""1,000 projects, of which the n-th busiest gets 1/n of the busiest one's tickets."""

HOT: Final = (0.3, *[0.7 / 1_000] * 1_000)
"""A hot project, P0, among 1,000 quiet ones."""

REAL_ITEMS: Final = Distribution(
    (200.0, 535.0, 1024.0, 1443.0, 2461.0, 9099.0, 15_000.0),
    (0.0, 0.5, 0.83, 0.9, 0.95, 0.99, 1.0),
)
"""Bytes of a ticket item: 23,313 issues of 16 projects that use Jira.

Choetkiertikul et al., IEEE TSE 2018; the ends are assumed.
"""

BARE_ITEM: Final = 132
"""Bytes of the item of a ticket without a description, as those were measured."""

SIZES: Final = 1_000
"""Sizes of tickets that stand for all."""

COLD_START: Final = (0.40, 0.54)
"""Seconds of processor time to import the function and to make its clients.

Seven starts with bytecode, not on Lambda.
"""

BATCH_SECONDS: Final = 0.005
RECORD_SECONDS: Final = 0.0015
PROJECT_SECONDS: Final = 0.0038
"""The overhead of a batch, of a record in it, and of a project after the first.

Each further project means two more requests, a query and a transaction.
"""


def overhead_of(records: int, projects: float = 1) -> float:
    """Return the overhead of a batch: Lambda's, and the function's own on 512 MB."""
    of_projects = PROJECT_SECONDS * (projects - 1)
    return BATCH_SECONDS + RECORD_SECONDS * records + of_projects


@dataclass(frozen=True)
class Workload:
    """The arrivals of messages, and the settings of the queue."""

    workers: int = 10
    """Batches worked on at a time, at most."""
    batch_size: int = 10
    window: float = 0.0
    """Seconds that a batch may wait to become full: MaximumBatchingWindow."""
    projects: int = 1
    """The projects; they alternate, unless they have weights."""
    weights: tuple[float, ...] = ()
    """The weights of the projects, which then arrive at random."""
    has_real_texts: bool = False
    text: int = 0
    """Characters of each description."""
    capped: float = 0.0
    """Share of the requests whose cap the project has reached."""
    faults: float = 0.0
    """Share of the worker's calls that fail."""
    has_deaths: bool = False
    """Whether some of these kill the worker."""
    killed: float = 0.0
    """Share of the invocations that are killed when they write first."""
    dead: int = 0
    """Numbers that the line of P0 counts at the start, for workers that are gone."""
    redelivered: float = 0.0
    """Share of the messages that are delivered once more after they were done."""
    rate: float | None = None
    """Messages a second; None: there is always more than the workers can take."""
    sent_together: int = 1
    """Messages that arrive at the same moment, where there is a rate."""
    burst: int = 0
    """Messages that wait at the start, in place of all that; all workers are cold."""
    queue: str = STANDARD
    has_overhead: bool = True
    """Whether a batch takes time outside its requests."""
    cold_start: tuple[float, float] = (0.0, 0.0)
    """Seconds that the start of a worker takes, drawn from this range."""

    def bound(self, profile: Profile) -> float:
        """Return the tickets a second that no policy exceeds.

        In perfect order and without a conflict: a block of the busiest project reads
        as soon as the last number of its predecessor is committed, and then writes;
        the partition's units set the limit. Of the queues that group messages,
        whose batches hold other shares, only the workers and the partition count.
        """
        batch = self.batch_size
        projects = self._projects_of_a_batch()
        write = profile.transaction(round(2 * batch / projects)).mean
        way, read = profile.call.at(0.5), profile.call.mean
        overhead = overhead_of(batch, projects) if self.has_overhead else 0.0
        whole = overhead + read + write + profile.publish.mean
        workers = 1 if self.queue == FIFO and self.projects == 1 else self.workers
        sizes = [1.0 + self.text // WRITE_UNIT_BYTES]
        if self.has_real_texts:
            shares = [(step + 0.5) / SIZES for step in range(SIZES)]
            sizes = [-(-REAL_ITEMS.at(share) // WRITE_UNIT_BYTES) for share in shares]
        share = max(self.weights, default=1.0) / (sum(self.weights) or self.projects)
        ceiling = PARTITION_UNITS / (UNITS_FACTOR * mean(sizes)) / share
        bound = min(workers * batch / whole, ceiling)
        if self.projects > 1 and self.queue != STANDARD:
            return bound
        # The share of the batches that the busiest project is in.
        batches = 1 - (1 - share) ** batch if self.weights else min(1.0, batch * share)
        write = profile.transaction(round(2 * batch * share / batches)).mean
        in_turn = read + write - way
        # A number is committed in the middle of its block, on average.
        in_turn -= PHASE * (write - way) / 2
        return min(bound, batch / (batches * in_turn))

    def _projects_of_a_batch(self) -> float:
        """Return the mean number of projects in a batch."""
        if not self.weights:
            return min(self.projects, self.batch_size)
        misses = (1 - weight / sum(self.weights) for weight in self.weights)
        return sum(1 - miss**self.batch_size for miss in misses)

    def bodies(self, choices: Choices) -> Iterator[tuple[str, str]]:
        """Yield create-ticket messages without end: the project and the body."""
        upto = [*accumulate(self.weights)]
        for serial in count(1):
            place = serial % self.projects
            if upto:
                place = bisect(upto, choices.duration(0.0, upto[-1]))
            project = f"P{place}"
            content: dict[str, Any] = {
                "project_id": project,
                "idempotency_key": f"key-{serial}",
                "title": "a ticket of the benchmark",
            }
            if self.text:
                content["description"] = "x" * self.text
            if self.capped and choices.chance(self.capped):
                content["max_number"] = 1
            if self.has_real_texts:
                missing = int(REAL_ITEMS.sample(choices)) - BARE_ITEM
                if missing > 0:
                    content["description"] = "x" * missing
            yield project, json.dumps(content)


@dataclass(frozen=True)
class Span:
    """The length of a run, in seconds of the virtual clock."""

    warm_up: float
    """Not counted."""
    seconds: float
    calls: float = float("inf")
    """Ends the warm-up as well, and after the same number again the run."""
    workers_a_second: float = float("inf")
    """The rate at which workers are added to the first five."""


def span_of(workload: Workload, scale: float, *, learns: bool) -> Span:
    """Return the span of a run.

    Args:
        workload: The measured workload.
        scale: Length of the run, as a share of the usual.
        learns: Whether the contender keeps its backoff from batch to batch. It then
            needs time to adapt, while Lambda adds workers slowly; of the others a
            second is enough, and much work.
    """
    if workload.burst:
        return Span(0.0, 60.0)
    if workload.rate:
        return Span(4.0 * scale, max(MIN_SECONDS, 20.0 * scale))
    if learns:
        warm_up = 4.0 + workload.workers / WORKERS_A_SECOND
        rate = WORKERS_A_SECOND / scale
        seconds = 10.0 * max(1.0, workload.text / UNTHROTTLED_TEXT)
        return Span(warm_up * scale, seconds * scale, MAX_CALLS * scale, rate)
    calls = MIN_CALLS + workload.workers * CALLS_A_WORKER
    return Span(1.0 * scale, 10.0 * scale, calls * scale)
