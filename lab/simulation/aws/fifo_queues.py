"""SQS FIFO queues: a group's messages in order, and none while one is in flight.

Source: SQS developer guide, "FIFO queue delivery logic" and "Exactly-once processing".
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, Final

from simulation.aws.errors import ServiceError
from simulation.aws.messages import Message
from simulation.aws.queues import Queue

DEDUPLICATION_SECONDS: Final = 300.0


@dataclass
class FifoQueue(Queue):
    """A FIFO queue that deduplicates by group and body, as the template's does."""

    delivers_twice: ClassVar[bool] = False

    _seen: dict[tuple[str | None, str], Message] = field(default_factory=dict)
    _places: "count[int]" = field(default_factory=lambda: count(1))

    def send(
        self,
        body: str,
        attributes: Mapping[str, Mapping[str, Any]] | None = None,
        group: str | None = None,
        token: str | None = None,
    ) -> Message:
        """Put a message on the queue; drop it if it is a repeat."""
        token = token or hashlib.sha256(body.encode()).hexdigest()
        first = self._seen.get((group, token))
        if first and first.sent_at > self.scheduler.now - DEDUPLICATION_SECONDS:
            return first
        message = super().send(body, attributes, group)
        message.token = token
        self._seen[group, token] = message
        return message

    def delete(self, message_id: str) -> None:
        """Delete a message; the rest of its group can be received."""
        super().delete(message_id)
        self._wake_pollers()

    def next_visible_at(self) -> float:
        """Return when the next group has no message in flight."""
        return min(map(_free_at, self._groups()), default=float("inf"))

    def _available(self) -> list[Message]:
        now = self.scheduler.now
        free = [group for group in self._groups() if _free_at(group) <= now]
        return [message for group in self.choices.order(free) for message in group]

    def _groups(self) -> list[list[Message]]:
        """Return each group's messages in the order of their arrival."""
        groups: dict[str | None, list[Message]] = {}
        for message in self.messages.values():
            groups.setdefault(message.group, []).append(message)
        return [*groups.values()]

    def _take_in(self, message: Message) -> None:
        # In a dead-letter queue the id is the token, so SQS keeps two messages of one
        # token apart.
        message.token, message.sequence = message.id, next(self._places)
        super()._take_in(message)

    def _check_order(self, entry: Mapping[str, Any]) -> None:
        if not (entry.get("MessageGroupId") and entry.get("MessageDeduplicationId")):
            raise ServiceError("MissingParameter")


def _free_at(group: list[Message]) -> float:
    """Return when no message of the group is in flight any more."""
    return max(message.visible_at for message in group)
