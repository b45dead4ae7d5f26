"""The result of a record: one of the classes of `Result`.

No class stands for a record without an answer or an error, so no message is deleted
by oversight.
Each result has its `outcome` and `message` in the log, and the metric that counts it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from ticket_numbering.contract.errors import PoisonMessageError, SequenceFullError
from ticket_numbering.contract.events import TicketNumberAssigned, TicketRefused
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.observability import Metric
from ticket_numbering.worker.sqs_record import SQSRecord

Value = TypeVar("Value")

Refusal = PoisonMessageError | SequenceFullError


@dataclass(frozen=True, slots=True)
class Pending:
    """A valid request that is not yet resolved."""

    record: SQSRecord
    request: CreateTicket


@dataclass(frozen=True, slots=True)
class Numbered:
    """The request has its number, which is announced."""

    message: ClassVar[str] = "record processed"

    record: SQSRecord
    request: CreateTicket
    event: TicketNumberAssigned


class Assigned(Numbered):
    """The request got its number now."""

    __slots__ = ()
    outcome: ClassVar[str] = "assigned"
    metric: ClassVar[Metric] = Metric.ASSIGNED


class Replayed(Numbered):
    """The request had its number before; the same event is announced again."""

    __slots__ = ()
    outcome: ClassVar[str] = "replayed"
    metric: ClassVar[Metric] = Metric.REPLAYED


@dataclass(frozen=True, slots=True)
class Refused:
    """The sequence has reached the request's cap: announced, and then deleted."""

    outcome: ClassVar[str] = "refused"
    metric: ClassVar[Metric] = Metric.REFUSED
    message: ClassVar[str] = "record refused"

    record: SQSRecord
    request: CreateTicket
    error: SequenceFullError
    event: TicketRefused | None = None
    """Set before the announcement."""


@dataclass(frozen=True, slots=True)
class Poison:
    """The message can never succeed: announced, and then dead-lettered."""

    outcome: ClassVar[str] = "poison"
    metric: ClassVar[Metric] = Metric.POISON
    message: ClassVar[str] = "record failed"

    record: SQSRecord
    error: PoisonMessageError
    request: CreateTicket | None = None
    event: TicketRefused | None = None
    """Set before the announcement; None if project or key cannot be read."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The message goes back to the queue; an unexpected error must not lose it."""

    outcome: ClassVar[str] = "transient"
    metric: ClassVar[Metric] = Metric.TRANSIENT
    message: ClassVar[str] = "record failed"

    record: SQSRecord
    error: Exception
    request: CreateTicket | None = None
    ticket_key: str | None = None
    """The ticket of a request that has an unannounced number."""
    refusal: Refusal | None = None
    """The refusal of a message that is not announced or not dead-lettered."""


Result = Assigned | Replayed | Refused | Poison | Retry


def caught(action: Callable[[], Value]) -> Value | Exception:
    """Run the action; return its failure, even a bug, as a value."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - the edge: a bug must not fail the batch
        return error


def failed(
    record: SQSRecord, error: Exception, request: CreateTicket | None = None
) -> Poison | Retry:
    """Return the result of a failure: poison if it can never succeed."""
    if isinstance(error, PoisonMessageError):
        return Poison(record, error, request)
    return Retry(record, error, request)


def retry(result: Result, error: Exception) -> Retry:
    """Turn a result into a retry, because of an error after it."""
    key = result.event.id if isinstance(result, Numbered) else None
    refusal = result.error if isinstance(result, Poison | Refused) else None
    return Retry(result.record, error, result.request, key, refusal)
