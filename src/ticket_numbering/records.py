"""A record of the batch as SQS delivers it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ticket_numbering.errors import InvalidMessageError
from ticket_numbering.messages import CreateTicket

NUMBER: Final = re.compile("[0-9]{1,19}")
"""More digits than any count or time has; int() refuses thousands of them."""


@dataclass(frozen=True, slots=True)
class QueueRecord:
    """One SQS message; tolerant, for an event made by hand may lack anything."""

    message_id: str
    body: str | None
    attributes: Mapping[str, str] = field(default_factory=dict)
    message_attributes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "QueueRecord":
        """Take over a record of a Lambda SQS event."""
        return cls(
            message_id=raw["messageId"],
            body=raw.get("body"),
            attributes=raw.get("attributes") or {},
            message_attributes=raw.get("messageAttributes") or {},
        )

    @property
    def receive_count(self) -> int:
        """How often SQS has delivered the message, this time included."""
        return self._number("ApproximateReceiveCount") or 1

    @property
    def sent_at(self) -> int:
        """When the message was sent, in epoch milliseconds; 0 if unknown."""
        return self._number("SentTimestamp") or 0

    @property
    def group_id(self) -> str | None:
        """The message group: a FIFO queue's order, or a fair queue's tenant."""
        return self.attributes.get("MessageGroupId")

    @property
    def is_fifo(self) -> bool:
        """Whether the queue keeps order: only FIFO queues number their messages."""
        return "SequenceNumber" in self.attributes

    def parse(self) -> CreateTicket:
        """Read the request.

        Raises:
            PoisonMessageError: The record holds no valid CreateTicket.
        """
        if not isinstance(self.body, str):
            problem = "body: missing"
            raise InvalidMessageError(problem)
        return CreateTicket.parse(self.body)

    def _number(self, name: str) -> int | None:
        digits = str(self.attributes.get(name, ""))
        return int(digits) if NUMBER.fullmatch(digits) else None
