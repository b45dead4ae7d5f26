"""What lies in the dead-letter queue, as people look at it and choose from it.

A letter's body is what the producer sent, byte for byte. Those that the worker sent
have the reason in message attributes; those that SQS moved have none of these.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from ticketctl.system.queues import Sent

ERROR_TYPE: Final = "ErrorType"
REASON_ATTRIBUTES: Final = frozenset(
    {ERROR_TYPE, "ErrorMessage", "SourceMessageId", "SentTimestamp"}
)
"""What the worker puts beside a body."""

RECEIVED_TOO_OFTEN: Final = "received too often"
"""The reason of those that SQS moved."""

KEY_IS_TAKEN: Final = "IdempotencyMismatchError"
STAYS_POISON: Final = frozenset({"InvalidMessageError", "TicketTooLargeError"})
"""Reasons that lie in the body alone, which a redrive does not change."""

Attributes = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Letter:
    """A message of the dead-letter queue."""

    message_id: str
    body: str
    attributes: Attributes = field(default_factory=dict)
    """The message attributes, as SQS gives them."""
    system: Mapping[str, str] = field(default_factory=dict)
    """The system attributes, as SQS gives them."""

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> "Letter":
        """Read a message as SQS gives it."""
        return cls(
            message["MessageId"],
            message["Body"],
            message.get("MessageAttributes", {}),
            message.get("Attributes", {}),
        )

    @property
    def error_type(self) -> str | None:
        """What the worker called the error; nothing if SQS moved the message."""
        return self.text(ERROR_TYPE)

    @property
    def reason(self) -> str:
        """Why it lies here, in a word to choose by."""
        return self.error_type or RECEIVED_TOO_OFTEN

    @property
    def explanation(self) -> str:
        """Why it lies here, in full."""
        message = self.text("ErrorMessage")
        return f"{self.reason}: {message}" if message else self.reason

    @property
    def project_id(self) -> str | None:
        """The project, if the body shows one."""
        return self._field("project_id")

    @property
    def idempotency_key(self) -> str | None:
        """The key, if the body shows one."""
        return self._field("idempotency_key")

    @property
    def size(self) -> int:
        """The bytes of the body."""
        return len(self.body.encode())

    @property
    def sent_at(self) -> datetime | None:
        """When it came here; when it was first sent, if SQS moved it."""
        stamp = self.system.get("SentTimestamp", "")
        if not stamp.isdigit():
            return None
        return datetime.fromtimestamp(int(stamp) / 1000, UTC)

    @property
    def own_attributes(self) -> Attributes:
        """The message attributes without those of the worker: the producer's."""
        if self.error_type is None:
            return self.attributes
        return {
            name: value
            for name, value in self.attributes.items()
            if name not in REASON_ATTRIBUTES
        }

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """The body's fields, none if it is no JSON object."""
        return Sent(self.message_id, self.body).fields

    def text(self, name: str) -> str | None:
        """Return a message attribute's text."""
        value: str | None = self.attributes.get(name, {}).get("StringValue")
        return value

    def _field(self, name: str) -> str | None:
        value = self.fields.get(name)
        return value if isinstance(value, str) else None


@dataclass(frozen=True)
class Filter:
    """Which letters somebody wants; all, if it names nothing."""

    project_id: str | None = None
    reason: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether every letter passes."""
        return self.project_id is None and self.reason is None

    def passes(self, letter: Letter) -> bool:
        """Return whether somebody wants the letter."""
        return self.project_id in {None, letter.project_id} and (
            self.reason is None or _word(self.reason) == _word(letter.reason)
        )


def _word(reason: str) -> str:
    """Let a reason be written without quotes: received-too-often."""
    return reason.replace("-", " ").casefold()
