"""SQS standard queues: delivery at least once, in any order; a dead-letter queue."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, Final

from simulation.aws.batches import entries_of, take
from simulation.aws.errors import ServiceError
from simulation.aws.messages import Message, received_of
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.engine.tasks import Future

MAX_SEND_BYTES: Final = 1024 * 1024
MAX_ATTRIBUTES: Final = 10
"""SQS quotas, "Message attributes"."""

FORBIDDEN: Final = re.compile(
    "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
"""SendMessage API reference, "MessageBody"; a text attribute has the same rule."""


@dataclass
class Queue:
    """A standard queue."""

    delivers_twice: ClassVar[bool] = True
    """Whether two pollers can receive the same message at the same time."""

    name: str
    choices: Choices
    scheduler: Scheduler
    visibility_seconds: float = 180.0
    max_receives: int = 10
    dead_letters: "Queue | None" = None
    messages: dict[str, Message] = field(default_factory=dict)
    arrived: list[Message] = field(default_factory=list)
    """All messages that have arrived."""
    on_send: Callable[[Mapping[str, Any]], None] = lambda _: None
    """Called with a client's message before it is accepted."""
    on_arrival: Callable[[Message], None] = lambda _: None
    on_delete: Callable[[Message], None] = lambda _: None
    _idle: list[Future] = field(default_factory=list)
    """The futures of the pollers that wait for a message."""
    _serial: "count[int]" = field(default_factory=lambda: count(1))

    def send(
        self,
        body: str,
        attributes: Mapping[str, Mapping[str, Any]] | None = None,
        group: str | None = None,
        token: str | None = None,  # noqa: ARG002 - for FIFO queues.
    ) -> Message:
        """Put a message on the queue, under a new id."""
        message_id = f"{self.name}-{next(self._serial)}"
        message = Message(message_id, body, self.scheduler.now, attributes or {}, group)
        self._take_in(message)
        return message

    def receive(self, at_most: int) -> list[Message]:
        """Hide and return visible messages; redrive those received too often."""
        received: list[Message] = []
        for message in self._available():
            if len(received) == at_most:
                break
            if self.dead_letters and message.receives >= self.max_receives:
                del self.messages[message.id]
                self.dead_letters._take_in(message)  # noqa: SLF001 - of the same class.
                continue
            self.deliver(message)
            received.append(message)
        return received

    def _available(self) -> Sequence[Message]:
        """Return the visible messages in any order."""
        now = self.scheduler.now
        return self.choices.order(
            [message for message in self.messages.values() if message.visible_at <= now]
        )

    def deliver(self, message: Message) -> None:
        """Count a receive and hide the message."""
        message.receives += 1
        message.visible_at = self.scheduler.now + self.visibility_seconds

    def delete(self, message_id: str) -> None:
        """Delete a message, if it is there."""
        if message := self.messages.get(message_id):
            self.on_delete(message)
            del self.messages[message_id]

    def next_visible_at(self) -> float:
        """Return when the next message in flight becomes visible."""
        return min(
            (message.visible_at for message in self.messages.values()),
            default=float("inf"),
        )

    def wait(self, seconds: float) -> None:
        """Let a poller wait for a message, this long at most."""
        future = Future()
        self._idle.append(future)
        self.scheduler.wait(future, seconds)

    def _wake_pollers(self) -> None:
        idle, self._idle = self._idle, []
        for future in idle:
            self.scheduler.resolve(future)

    def move_to(self, queue: "Queue") -> None:
        """Redrive every message under a new id."""
        moved = list(self.messages.values())
        self.messages.clear()
        for message in moved:
            queue.send(message.body, message.attributes, message.group, message.token)

    def _take_in(self, message: Message) -> None:
        message.visible_at = self.scheduler.now
        self.messages[message.id] = message
        self.arrived.append(message)
        self.on_arrival(message)
        self._wake_pollers()

    def serve(
        self, operation: str, request: Mapping[str, Any], *, partly: bool
    ) -> dict[str, Any]:
        """Answer a client's request; a batch does the same for each of its entries.

        Raises:
            ServiceError: The request is rejected as a whole.
        """
        calls: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "send_message": self._send,
            "receive_message": self._receive,
            "delete_message": self._delete,
            "change_message_visibility": self._change_visibility,
            "get_queue_attributes": self._counts,
        }
        call = calls[operation.removesuffix("_batch")]
        if operation in calls:
            return call(request)
        prefix = "AWS.SimpleQueueService."
        return take(
            entries_of(prefix, request["Entries"], MAX_SEND_BYTES, "MessageBody"),
            call,
            self.choices,
            partly=partly,
        )

    def _send(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        _check(entry)
        self._check_order(entry)
        self.on_send(entry)
        message = self.send(
            entry["MessageBody"],
            entry.get("MessageAttributes"),
            entry.get("MessageGroupId"),
            entry.get("MessageDeduplicationId"),
        )
        return {"MessageId": message.id}

    def _receive(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Hide and return messages; wait for one as long as the caller does."""
        self.visibility_seconds = request["VisibilityTimeout"]
        end = self.scheduler.now + request.get("WaitTimeSeconds", 0)
        while True:
            received = self.receive(request["MaxNumberOfMessages"])
            if received or self.scheduler.now >= end:
                return {"Messages": [*map(received_of, received)]} if received else {}
            self.wait(min(end, self.next_visible_at()) - self.scheduler.now)

    def _delete(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        self.delete(entry["ReceiptHandle"])
        return {}

    def _change_visibility(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Hide a message in flight for longer, or let all see it.

        Raises:
            ServiceError: It is not in flight.
        """
        message = self.messages.get(entry["ReceiptHandle"])
        if not message or message.visible_at <= self.scheduler.now:
            raise ServiceError("MessageNotInflight")
        message.visible_at = self.scheduler.now + entry["VisibilityTimeout"]
        self._wake_pollers()
        return {}

    def _counts(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the counts that are asked for; no message is ever delayed."""
        hidden = sum(
            message.visible_at > self.scheduler.now
            for message in self.messages.values()
        )
        counts = {"": len(self.messages) - hidden, "Delayed": 0, "NotVisible": hidden}
        named = {
            f"ApproximateNumberOfMessages{kind}": str(count)
            for kind, count in counts.items()
        }
        asked = request.get("AttributeNames", ())
        return {"Attributes": {name: named[name] for name in asked}}

    def _check_order(self, entry: Mapping[str, Any]) -> None:
        """Check that an entry has no member that only FIFO queues take.

        Raises:
            ServiceError: It has one.
        """
        if "MessageDeduplicationId" in entry:
            raise ServiceError("InvalidParameterValue")


def _check(entry: Mapping[str, Any]) -> None:
    """Check the attributes and the texts of an entry.

    Raises:
        ServiceError: The entry is rejected; the worker does not look at the code.
    """
    attributes = entry.get("MessageAttributes", {})
    if len(attributes) > MAX_ATTRIBUTES:
        raise ServiceError("InvalidParameterValue")
    texts = [entry["MessageBody"]]
    texts += [value.get("StringValue", "-") for value in attributes.values()]
    if not all(texts):
        raise ServiceError("MissingParameter")
    if any(FORBIDDEN.search(text) for text in texts):
        raise ServiceError("InvalidMessageContents")
