"""Counts of a run, taken at the model's edges: the same for every contender."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Final

from simulation.aws.faults import Fault
from simulation.aws.fifo_queues import FifoQueue
from simulation.aws.messages import Message
from simulation.aws.queues import Queue
from simulation.aws.tables import TICKETS
from simulation.history import History

NOISY_SHARE: Final = 0.1
"""A group is noisy with more of the messages in flight, or of the processing time."""

NOISY_IN_FLIGHT: Final = 30
"""The fewest messages in flight of a group that is noisy by their share."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Figures of one run, or of several."""

    requests: float
    """Of the function, a ticket, as are the units."""
    publishes: float
    lookups: float
    """Those of them that publish, and that look up keys."""
    write_units: float
    read_units: float
    attempts: float
    """Writes of tickets that were sent, for one that succeeded."""
    tickets_a_second: float
    bound: float
    """Those that no policy exceeds."""
    batches: float
    """Invocations a ticket."""
    batch_seconds: float
    p50: float
    p99: float
    longest: float
    """Seconds from receive to announced."""
    p99_from_sending: float
    p99_of_quiet: float
    """From sending, of all projects but P0."""
    starved: int
    """Messages that went back to the queue because time or attempts ran out."""
    duplicates: float
    """Share of the tickets whose request had one already."""


def mean_of(runs: Sequence[Figures]) -> Figures:
    """Return the means of runs with different seeds; of losses the sum."""
    values: dict[str, Any] = {
        name: mean(getattr(run, name) for run in runs)
        for name in Figures.__annotations__
    }
    values["longest"] = max(run.longest for run in runs)
    values["starved"] = sum(run.starved for run in runs)
    return Figures(**values)


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile; 0 of nothing."""
    ordered = sorted(values) or [0.0]
    return ordered[round((len(ordered) - 1) * share)]


@dataclass
class Counts:
    """The counts of the measured time."""

    requests: Counter[str] = field(default_factory=Counter)
    """Requests of the function by operation; botocore's retries count."""
    attempts: int = 0
    """Writes sent: the worker's blocks, the others' single tickets."""
    commits: int = 0
    """Those of them that succeeded."""
    tickets: int = 0
    duplicates: int = 0
    """Tickets of requests that had one already."""
    waits: list[float] = field(default_factory=list)
    """Seconds from a message's first receive to its first announcement."""
    delays: list[float] = field(default_factory=list)
    """Seconds from its sending."""
    quiet_delays: list[float] = field(default_factory=list)
    """Those of all projects but P0."""
    batches: list[float] = field(default_factory=list)
    """Seconds that each invocation took."""
    starved: int = 0

    def figures(
        self, seconds: float, written: float, read: float, bound: float
    ) -> Figures:
        """Return the figures, given the seconds, write units, read units and bound."""
        tickets = max(1, self.tickets)
        return Figures(
            requests=self.requests.total() / tickets,
            publishes=self.requests["publish_batch"] / tickets,
            lookups=self.requests["batch_get_item"] / tickets,
            write_units=written / tickets,
            read_units=read / tickets,
            attempts=self.attempts / max(1, self.commits),
            tickets_a_second=self.tickets / seconds,
            bound=bound,
            batches=len(self.batches) / tickets,
            batch_seconds=mean(self.batches or [0.0]),
            p50=percentile(self.waits, 0.5),
            p99=percentile(self.waits, 0.99),
            longest=percentile(self.waits, 1.0),
            p99_from_sending=percentile(self.delays, 0.99),
            p99_of_quiet=percentile(self.quiet_delays, 0.99),
            starved=self.starved,
            duplicates=self.duplicates / tickets,
        )


@dataclass
class Meter(History):
    """Counts calls and announcements, and keeps none."""

    counts: Counts = field(default_factory=Counts)
    """Emptied when the measuring begins."""
    received: dict[str, tuple[float, float]] = field(default_factory=dict)
    """When each idempotency key was first received, and when it was sent."""

    def called(
        self, operation: str, request: Mapping[str, Any], fault: Fault | None
    ) -> None:
        """Count a call."""
        del fault
        self.counts.requests[operation] += 1
        self.counts.attempts += operation == "transact_write_items" or (
            operation == "put_item" and request["TableName"] == TICKETS
        )

    def note(self, what: str, detail: Any = None) -> None:
        """Keep nothing."""

    def announced(self, event: Mapping[str, Any]) -> None:
        """Count an announcement, if it is the request's first."""
        key = event["data"]["idempotency_key"]
        if key in self.received:
            received_at, sent_at = self.received.pop(key)
            self.counts.waits.append(self.scheduler.now - received_at)
            self.counts.delays.append(self.scheduler.now - sent_at)
            if event["data"]["project_id"] != "P0":
                self.counts.quiet_delays.append(self.scheduler.now - sent_at)


@dataclass
class CountedQueue(Queue):
    """A queue with a batching window, that delivers some messages twice."""

    meter: Meter = field(kw_only=True)
    window: float = 0.0
    redelivered: float = 0.0

    def receive(self, at_most: int) -> list[Message]:
        """Receive, and wait up to the window until the batch is full."""
        received = super().receive(at_most)
        end = self.scheduler.now + self.window
        while received and len(received) < at_most and self.scheduler.now < end:
            self.wait(end - self.scheduler.now)
            received += super().receive(at_most - len(received))
        return received

    def deliver(self, message: Message) -> None:
        """Deliver, and remember when it was the first time."""
        super().deliver(message)
        if message.receives == 1:
            key = json.loads(message.body)["idempotency_key"]
            self.meter.received[key] = self.scheduler.now, message.sent_at

    def delete(self, message_id: str) -> None:
        """Delete a message; some come back once instead."""
        message = self.messages.get(message_id)
        if message and message.receives == 1 and self.choices.chance(self.redelivered):
            message.visible_at = self.scheduler.now
            self._wake_pollers()
        else:
            super().delete(message_id)


@dataclass
class CountedFairQueue(CountedQueue):
    """A standard queue of messages with groups: quiet groups come first.

    SQS developer guide, "How Amazon SQS fair queues work". The guide does not say which
    processing time is recent; here it is that of the whole run.
    """

    seconds: defaultdict[str | None, float] = field(
        default_factory=lambda: defaultdict(float)
    )
    """The processing time of each group."""

    def delete(self, message_id: str) -> None:
        """Delete a message, and count its time in flight."""
        if message := self.messages.get(message_id):
            received_at = message.visible_at - self.visibility_seconds
            self.seconds[message.group] += self.scheduler.now - received_at
        super().delete(message_id)

    def _available(self) -> list[Message]:
        now, messages = self.scheduler.now, self.messages.values()
        in_flight = Counter(one.group for one in messages if one.visible_at > now)
        many = {group for group, held in in_flight.items() if held >= NOISY_IN_FLIGHT}
        noisy = _above_share(self.seconds) | (_above_share(in_flight) & many)

        def rank(message: Message) -> int:
            group = message.group
            return in_flight[group] + 1 if group in noisy else 0

        return sorted(super()._available(), key=rank)


def _above_share(groups: Mapping[str | None, float]) -> set[str | None]:
    most = NOISY_SHARE * sum(groups.values())
    return {group for group, amount in groups.items() if amount > most}


@dataclass
class CountedFifoQueue(CountedQueue, FifoQueue):
    """The same in FIFO mode."""
