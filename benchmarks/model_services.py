"""What the benchmark needs of the model besides: counting, and an end."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.tally import Tally
from simulation.aws.fifo_queues import FifoQueue
from simulation.aws.network import Network, Request, Service
from simulation.aws.queues import Message, Queue
from simulation.aws.topics import Topic
from simulation.history import History

RequestId = tuple[str, str]
"""A project and an idempotency key."""


@dataclass
class CountingNetwork(Network):
    """Counts each request by its operation, each retry too."""

    tally: Tally = field(default_factory=Tally)

    def _try(self, service: Service, operation: str, request: Request) -> Any:
        self.tally.requests[operation] += 1
        return super()._try(service, operation, request)


@dataclass
class NoHistory(History):
    """Remembers no more than is counted."""

    tally: Tally = field(default_factory=Tally)

    def note(self, what: str, detail: Any = None) -> None:
        """Count what is of interest."""
        del detail
        self.tally.timeouts += what == "ends at its timeout"


@dataclass
class BenchQueue(Queue):
    """A queue that is closed at the end, and that delivers some messages twice."""

    tally: Tally = field(default_factory=Tally)
    redelivered: float = 0.0
    is_closed: bool = False
    ids: dict[str, RequestId] = field(default_factory=dict)
    """Whose request each body is."""
    first_received: dict[RequestId, float] = field(default_factory=dict)

    def receive(self, at_most: int) -> list[Message]:
        """Receive, unless it is closed."""
        return [] if self.is_closed else super().receive(at_most)

    def next_visible_at(self) -> float:
        """Return when there is something to receive."""
        return float("inf") if self.is_closed else super().next_visible_at()

    def deliver(self, message: Message) -> None:
        """Deliver, and remember when it was the first time."""
        super().deliver(message)
        self.tally.redelivered += message.receives > 1
        if message.receives == 1:
            self.first_received[self.ids[message.body]] = self.clock()

    def delete(self, message_id: str) -> None:
        """Delete a message; some come back once instead."""
        message = self.messages.get(message_id)
        if message and message.receives == 1 and self.choices.chance(self.redelivered):
            message.visible_at = self.clock()
            self.on_send()
        else:
            super().delete(message_id)


@dataclass
class FifoBenchQueue(BenchQueue, FifoQueue):
    """The same in FIFO mode."""


@dataclass
class Announced(Topic):
    """Tells who was announced, and keeps nothing."""

    on_event: Callable[[RequestId], None] = lambda _: None

    def _publish(self, entry: Mapping[str, Any]) -> str:
        event = json.loads(entry["Message"])
        self.on_event((event["data"]["project_id"], event["data"]["idempotency_key"]))
        return str(event["id"])
