"""The workloads: arrivals, the settings of the queue, and the span of a run."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final

WORKERS_A_SECOND: Final = 5.0
"""The rate at which Lambda adds workers: 300 a minute; Lambda guide, "SQS scaling"."""

FIRST_WORKERS: Final = 5
"""The workers that Lambda starts with; Lambda guide, "SQS event source scaling"."""

MIN_SECONDS: Final = 4.0
"""So that a batch arrives where batches arrive now and then."""

MAX_CALLS: Final = 8_000
MIN_CALLS: Final = 4_000
CALLS_A_WORKER: Final = 80
"""The bounds of a run that makes more calls than its figures need."""


def overhead_of(records: int, projects: int = 1) -> tuple[float, float]:
    """Return the overhead of a batch: Lambda's, and the function's own on 512 MB.

    Each further project means two more requests, a query and a transaction.
    """
    seconds = 0.005 + 0.0015 * records + 0.0038 * (projects - 1)
    return seconds, seconds


@dataclass(frozen=True)
class Workload:
    """The arrivals of messages, and the settings of the queue."""

    workers: int = 10
    """Batches worked on at a time, at most."""
    batch_size: int = 10
    window: float = 0.0
    """Seconds that a batch may wait to become full: MaximumBatchingWindow."""
    projects: int = 1
    """They take turns."""
    redelivered: float = 0.0
    """Share of the messages that are delivered once more after they were done."""
    rate: float | None = None
    """Messages a second; None: there is always more than the workers can take."""
    sent_together: int = 1
    """Messages that arrive at the same moment, where there is a rate."""
    burst: int = 0
    """Messages that wait at the start, in place of all that; all workers are cold."""
    is_fifo: bool = False
    overhead: tuple[float, float] = (0.0, 0.0)
    """Seconds that a batch takes outside its requests, drawn from this range."""

    def bodies(self) -> Iterator[tuple[str, str]]:
        """Yield create-ticket messages without end: the project and the body."""
        for serial in count(1):
            project = f"P{serial % self.projects}"
            content = {
                "project_id": project,
                "idempotency_key": f"key-{serial}",
                "title": "a ticket of the benchmark",
            }
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
        return Span(warm_up * scale, 10.0 * scale, MAX_CALLS, rate)
    calls = MIN_CALLS + workload.workers * CALLS_A_WORKER
    return Span(1.0 * scale, 10.0 * scale, calls)
