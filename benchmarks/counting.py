"""What is counted while a contender works: the same for all, at the model's edges."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulation.aws.fifo_queues import FifoQueue
from simulation.aws.queues import Message, Queue
from simulation.aws.topics import Topic
from simulation.engine.scheduler import Future, Scheduler
from simulation.faults import Fault
from simulation.history import History
from simulation.monitor import TICKETS


@dataclass
class Counts:
    """What happened while it was measured."""

    requests: Counter[str] = field(default_factory=Counter)
    """Requests of the function by operation; botocore's retries count."""
    attempts: int = 0
    """Writes of tickets that were sent: blocks of ours, single tickets of others."""
    commits: int = 0
    """Those of them that succeeded."""
    tickets: int = 0
    waits: list[float] = field(default_factory=list)
    """Seconds from a message's first receive to its first announcement."""
    delays: list[float] = field(default_factory=list)
    """Seconds from its sending."""
    batches: list[float] = field(default_factory=list)
    """Seconds that each invocation took."""
    starved: int = 0


@dataclass
class Meter:
    """Counts, and forgets what was counted when the measuring begins."""

    clock: Callable[[], float]
    counts: Counts = field(default_factory=Counts)
    keys: dict[str, str] = field(default_factory=dict)
    """The idempotency key of each body."""
    sent: dict[str, float] = field(default_factory=dict)
    received: dict[str, float] = field(default_factory=dict)
    """When each key was sent, and first received."""

    def announced(self, key: str) -> None:
        """Count an announcement, if it is the key's first."""
        received = self.received.pop(key, None)
        if received is not None:
            self.counts.waits.append(self.clock() - received)
            self.counts.delays.append(self.clock() - self.sent.pop(key))


@dataclass
class CountingHistory(History):
    """Counts calls, and keeps nothing."""

    meter: Meter = field(kw_only=True)

    def called(
        self, operation: str, request: Mapping[str, Any], fault: Fault | None
    ) -> None:
        """Count a call."""
        del fault
        counts = self.meter.counts
        counts.requests[operation] += 1
        counts.attempts += operation == "transact_write_items" or (
            operation == "put_item" and request["TableName"] == TICKETS
        )

    def note(self, what: str, detail: Any = None) -> None:
        """Keep nothing."""


@dataclass
class CountedQueue(Queue):
    """A queue with a batching window, that delivers some messages twice."""

    meter: Meter = field(kw_only=True)
    scheduler: Scheduler = field(kw_only=True)
    window: float = 0.0
    redelivered: float = 0.0
    is_closed: bool = False

    def receive(self, at_most: int) -> list[Message]:
        """Receive, and wait up to the window until the batch is full."""
        received = [] if self.is_closed else super().receive(at_most)
        end = self.clock() + self.window
        while received and len(received) < at_most and self.clock() < end:
            future = Future()
            self.idle.append(future)
            self.scheduler.wait(future, end - self.clock())
            received += super().receive(at_most - len(received))
        return received

    def next_visible_at(self) -> float:
        """Return when there is something to receive."""
        return float("inf") if self.is_closed else super().next_visible_at()

    def deliver(self, message: Message) -> None:
        """Deliver, and remember when it was the first time."""
        super().deliver(message)
        if message.receives == 1:
            self.meter.received[self.meter.keys[message.body]] = self.clock()

    def delete(self, message_id: str) -> None:
        """Delete a message; some come back once instead."""
        message = self.messages.get(message_id)
        if message and message.receives == 1 and self.choices.chance(self.redelivered):
            message.visible_at = self.clock()
            self.on_send()
        else:
            super().delete(message_id)


@dataclass
class CountedFifoQueue(CountedQueue, FifoQueue):
    """The same in FIFO mode."""


@dataclass
class CountedTopic(Topic):
    """A topic that tells of each announcement."""

    meter: Meter = field(kw_only=True)

    def serve(
        self, operation: str, request: Mapping[str, Any], *, partly: bool
    ) -> dict[str, Any]:
        """Publish a batch."""
        answer = super().serve(operation, request, partly=partly)
        for entry in request["PublishBatchRequestEntries"]:
            self.meter.announced(
                json.loads(entry["Message"])["data"]["idempotency_key"]
            )
        return answer


def gaps_and_duplicates(tickets: Sequence[tuple[str, int, str]]) -> tuple[int, int]:
    """Return how many numbers were skipped, and how many tickets are one too many.

    Args:
        tickets: Project, number and idempotency key of every ticket.
    """
    numbers: dict[str, set[int]] = {}
    for project, number, _ in tickets:
        numbers.setdefault(project, set()).add(number)
    gaps = sum(max(found) - len(found) for found in numbers.values())
    requests = {(project, key) for project, _, key in tickets}
    return gaps, len(tickets) - len(requests)
