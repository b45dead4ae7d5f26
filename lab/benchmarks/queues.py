"""The queues of a run, which count the time of each message."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from benchmarks.counting import Meter
from benchmarks.workloads import FAIR, FIFO, STANDARD
from simulation.aws.fifo_queues import FifoQueue
from simulation.aws.messages import Message
from simulation.aws.queues import Queue

NOISY_SHARE: Final = 0.1
"""A group is noisy with more of the messages in flight, or of the processing time."""

NOISY_IN_FLIGHT: Final = 30
"""The fewest messages in flight of a group that is noisy by their share."""


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


QUEUES: Final[Mapping[str, type[CountedQueue]]] = {
    STANDARD: CountedQueue,
    FAIR: CountedFairQueue,
    FIFO: CountedFifoQueue,
}
