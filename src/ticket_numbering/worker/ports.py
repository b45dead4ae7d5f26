"""The ports of the publisher and the dead-letter queue, and their values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ticket_numbering.allocation.store import TimeLeft
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.errors import (
    AnnouncementError,
    DeadLetterError,
    PoisonMessageError,
)
from ticket_numbering.worker.sqs_record import SQSRecord


class Publisher(Protocol):
    """Announces numbers and refusals."""

    def publish(
        self, envelopes: Sequence[Envelope], time_left: TimeLeft
    ) -> Mapping[str, AnnouncementError]:
        """Publish, and return the errors of the unpublished, by event id."""
        ...


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A poison message, and why it is one."""

    record: SQSRecord
    error: PoisonMessageError


class DeadLetterQueue(Protocol):
    """Takes poison messages."""

    def send(
        self, dead_letters: Sequence[DeadLetter], time_left: TimeLeft
    ) -> Mapping[str, DeadLetterError]:
        """Send, and return the errors of the unsent, by message id."""
        ...
