"""A message of the dead-letter queue.

The body is the producer's, byte for byte. A dead letter of the worker has the reason in
its message attributes; a dead letter that SQS moved has none.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from ticket_numbering.contract.attributes import (
    ERROR_MESSAGE,
    ERROR_TYPE,
    REASON_ATTRIBUTES,
    SENT_TIMESTAMP,
)
from ticket_numbering.contract.field_types import timestamp
from ticketctl.aws.queues import RECEIVED_TOO_OFTEN
from ticketctl.aws.request_fields import read_fields
from ticketctl.dead_letters import POISON

_MOVED: Final = "DeadLetterQueueSourceArn"
"""The attribute of a message that SQS itself moved; ReceiveMessage API."""

_MILLISECONDS: Final = re.compile("[0-9]{1,14}")

Attributes = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class DeadLetter:
    """A received dead letter."""

    message_id: str
    body: str
    attributes: Attributes = field(default_factory=dict)
    system: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> "DeadLetter":
        """Parse a message of `ReceiveMessage`."""
        return cls(
            message["MessageId"],
            message["Body"],
            message.get("MessageAttributes", {}),
            message.get("Attributes", {}),
        )

    @property
    def error_type(self) -> str | None:
        """The worker's error; None if SQS moved the message.

        A producer may use an attribute of that name, and a redrive keeps the reason of
        an earlier refusal.
        """
        named = self._attribute(ERROR_TYPE)
        return named if named in POISON and _MOVED not in self.system else None

    @property
    def error_message(self) -> str | None:
        """The worker's message for the error."""
        return self._attribute(ERROR_MESSAGE) if self.error_type else None

    @property
    def reason(self) -> str:
        """The reason as one word."""
        return self.error_type or RECEIVED_TOO_OFTEN

    @property
    def explanation(self) -> str:
        """The reason in full."""
        message = self.error_message
        return f"{self.reason}: {message}" if message else self.reason

    @property
    def project_id(self) -> str | None:
        """The project, if the body has one."""
        return self._field("project_id")

    @property
    def idempotency_key(self) -> str | None:
        """The key, if the body has one."""
        return self._field("idempotency_key")

    @property
    def sent_at(self) -> datetime | None:
        """The time when the worker sent it, or the producer if SQS moved it."""
        return _time(self.system.get("SentTimestamp"))

    @property
    def first_sent_at(self) -> datetime | None:
        """The earliest known time of a sending, which a redrive keeps."""
        known = (self.sent_at, _time(self._attribute(SENT_TIMESTAMP)))
        return min(filter(None, known), default=None)

    @property
    def own_attributes(self) -> Attributes:
        """The producer's message attributes."""
        if self.error_type is None:
            return self.attributes
        return {
            name: value
            for name, value in self.attributes.items()
            if name not in REASON_ATTRIBUTES
        }

    def as_json(self) -> dict[str, Any]:
        """Return all members; binary attributes in Base64, as in Lambda's events."""
        return {
            "message_id": self.message_id,
            "reason": self.reason,
            "error_message": self.error_message,
            "project_id": self.project_id,
            "idempotency_key": self.idempotency_key,
            "sent_at": self.sent_at and timestamp(self.sent_at),
            "body": self.body,
            "attributes": {
                name: {part: _text(value) for part, value in attribute.items()}
                for name, attribute in self.attributes.items()
            },
            "system_attributes": dict(self.system),
        }

    def _attribute(self, name: str) -> str | None:
        value: str | None = self.attributes.get(name, {}).get("StringValue")
        return value

    def _field(self, name: str) -> str | None:
        value = read_fields(self.body).get(name)
        return value if isinstance(value, str) else None


def _time(stamp: str | None) -> datetime | None:
    """Parse epoch milliseconds; None if malformed, because producers may set them."""
    if stamp is None or not _MILLISECONDS.fullmatch(stamp):
        return None
    return datetime.fromtimestamp(int(stamp) / 1000, UTC)


def _text(value: str | bytes) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
