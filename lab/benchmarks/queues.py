"""The queues of a run, which count the time of each message."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from benchmarks.counting import Meter
from benchmarks.workloads import FAIR, FIFO, STANDARD
from simulation.aws.fair_queues import FairQueue
from simulation.aws.fifo_queues import FifoQueue
from simulation.aws.messages import Message
from simulation.aws.queues import Queue


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
class CountedFairQueue(FairQueue, CountedQueue):
    """The same with fair groups."""


@dataclass
class CountedFifoQueue(CountedQueue, FifoQueue):
    """The same in FIFO mode."""


QUEUES: Final[Mapping[str, type[CountedQueue]]] = {
    STANDARD: CountedQueue,
    FAIR: CountedFairQueue,
    FIFO: CountedFifoQueue,
}
