"""A record of the batch as SQS delivers it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from ticket_numbering.contract.field_types import timestamp
from ticket_numbering.contract.json_body import not_json
from ticket_numbering.contract.messages import CreateTicket

ATTRIBUTE_NAME: Final = re.compile("[A-Za-z0-9_.-]{1,256}")
"""SQS API reference, SendMessage, "MessageAttribute"."""

DIGITS: Final = re.compile("[0-9]{1,19}")
"""More digits than any count or time has; int() rejects thousands of them."""

TRACEPARENT: Final = re.compile(
    "(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)
"""W3C Trace Context, "Traceparent Header"; no version after 00 has more parts."""

_MEMBER: Final = r"[a-z0-9][a-z0-9_\-*/@]{0,255}=[!-+\--<>-~ ]{0,255}[!-+\--<>-~]"
TRACESTATE: Final = re.compile(rf"(?=.{{1,512}}$){_MEMBER}( *, *{_MEMBER}){{0,31}}")
"""W3C Trace Context, "Tracestate Header": at most 32 members, and 512 characters."""


@dataclass(frozen=True, slots=True)
class SQSRecord:
    """One SQS message; a hand-made event may lack any member but the id."""

    message_id: str
    body: str | None
    attributes: Mapping[str, str] = field(default_factory=dict)
    message_attributes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "SQSRecord":
        """Parse a record of a Lambda SQS event; ignore members that SQS cannot send."""
        body = raw.get("body")
        attributes = _members(raw.get("attributes"), (str, int))
        return cls(
            message_id=raw["messageId"],
            body=body if isinstance(body, str) else None,
            attributes={name: str(value) for name, value in attributes.items()},
            message_attributes=_members(raw.get("messageAttributes"), Mapping),
        )

    @property
    def receive_count(self) -> int:
        """The number of the message's deliveries, including this one."""
        return self._number("ApproximateReceiveCount") or 1

    @property
    def sent_at(self) -> int:
        """When the message was sent, in epoch milliseconds; 0 if unknown."""
        return self._number("SentTimestamp") or 0

    @property
    def sent_time(self) -> str | None:
        """When the message was sent, in UTC; None if unknown."""
        if not self.sent_at:
            return None
        try:
            return timestamp(datetime.fromtimestamp(self.sent_at / 1000, UTC))
        except (OverflowError, ValueError):  # Only in a hand-made event.
            return None

    @property
    def sort_key(self) -> int:
        """Sort key within a batch; ties keep the batch's order.

        The batch of a FIFO queue is in order already, and the clocks behind its
        messages' timestamps may differ.
        """
        return 0 if self.is_fifo else self.sent_at

    @property
    def group_id(self) -> str | None:
        """The message group: a FIFO queue's order, or a fair queue's tenant."""
        return self.attributes.get("MessageGroupId")

    @property
    def is_fifo(self) -> bool:
        """Whether the queue keeps order: only FIFO queues number their messages."""
        return "SequenceNumber" in self.attributes

    @property
    def trace(self) -> dict[str, str]:
        """The trace context in the message attributes; empty if it is malformed."""
        parent, state = self._text("traceparent"), self._text("tracestate")
        if not TRACEPARENT.fullmatch(parent):
            return {}
        if not TRACESTATE.fullmatch(state):
            return {"traceparent": parent}
        return {"traceparent": parent, "tracestate": state}

    def parse(self) -> CreateTicket:
        """Read the request.

        Raises:
            PoisonMessageError: The record holds no valid CreateTicket.
        """
        if not isinstance(self.body, str):
            raise not_json("missing")
        return CreateTicket.parse(self.body)

    def _text(self, name: str) -> str:
        # A missing attribute becomes "None", which no standard allows.
        return str(self.message_attributes.get(name, {}).get("stringValue"))

    def _number(self, name: str) -> int | None:
        digits = self.attributes.get(name, "")
        return int(digits) if DIGITS.fullmatch(digits) else None


def _members(value: Any, kind: type | tuple[type, ...]) -> dict[str, Any]:
    """Return the members of an object that have a valid name and type."""
    if not isinstance(value, Mapping):
        return {}
    return {
        name: member
        for name, member in value.items()
        if isinstance(member, kind) and ATTRIBUTE_NAME.fullmatch(name)
    }
