"""The result of a record: assigned, replayed, poison or retry, and nothing else.

A record without an answer and without an error cannot be expressed, so no message is
deleted by oversight.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from ticket_numbering.contract.errors import (
    DamagedKeyRecordError,
    IdempotencyMismatchError,
    NotAttemptedError,
    PoisonMessageError,
)
from ticket_numbering.contract.messages import (
    Assignment,
    CreateTicket,
    RequestIdentity,
    TicketNumberAssigned,
    ticket_key,
)
from ticket_numbering.worker.ports import Announcement
from ticket_numbering.worker.sqs_record import SQSRecord


@dataclass(frozen=True, slots=True)
class Pending:
    """A valid request that is not yet resolved."""

    record: SQSRecord
    request: CreateTicket


@dataclass(frozen=True, slots=True)
class Assigned:
    """The request got its number now."""

    record: SQSRecord
    request: CreateTicket
    event: TicketNumberAssigned


@dataclass(frozen=True, slots=True)
class Replayed:
    """The request had its number before; the same event is announced again."""

    record: SQSRecord
    request: CreateTicket
    event: TicketNumberAssigned


@dataclass(frozen=True, slots=True)
class Poison:
    """The message can never succeed: it goes to the dead-letter queue."""

    record: SQSRecord
    error: PoisonMessageError
    request: CreateTicket | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """The message goes back to the queue; an unexpected error must not lose it."""

    record: SQSRecord
    error: Exception
    request: CreateTicket | None = None
    ticket_key: str | None = None
    """If the request has a number that is not announced."""


Numbered = Assigned | Replayed
Result = Assigned | Replayed | Poison | Retry


def failed(
    record: SQSRecord, error: Exception, request: CreateTicket | None = None
) -> Poison | Retry:
    """Return the result of a failure: poison if it can never succeed."""
    if isinstance(error, PoisonMessageError):
        return Poison(record, error, request)
    return Retry(record, error, request)


def retry(result: Result, error: Exception) -> Retry:
    """Return the result of a record that goes back after all."""
    key = result.event.id if isinstance(result, Numbered) else None
    return Retry(result.record, error, result.request, key)


def deduplicate(pending: Iterable[Pending]) -> dict[RequestIdentity, CreateTicket]:
    """Return each request once, in the order of sending, with its highest cap.

    If the highest cap is refused, all are.
    """
    requests: dict[RequestIdentity, CreateTicket] = {}
    for entry in sorted(pending, key=lambda entry: entry.record.sort_key):
        request = entry.request
        if request.cap > requests.setdefault(request.identity, request).cap:
            requests[request.identity] = request
    return requests


def resolve(
    pending: Pending, answer: Assignment | Exception, *, new: bool, padding: int
) -> Result:
    """Return the result of a record whose request has this answer.

    Args:
        pending: The record.
        answer: The number of the request's key, or why the request has none.
        new: Whether the key got its number for this record.
        padding: The digits of a number for display, at least.
    """
    if isinstance(answer, Assignment):
        return _numbered(pending, answer, new=new, padding=padding)
    return failed(pending.record, answer, pending.request)


def _numbered(
    pending: Pending, answer: Assignment, *, new: bool, padding: int
) -> Result:
    record, request = pending.record, pending.request
    if not request.matches(answer.fingerprint):
        used = ticket_key(request.project_id, answer.number)
        reason = f"idempotency_key: already used for {used}, a different ticket"
        error = IdempotencyMismatchError(reason, "idempotency_key")
        return Poison(record, error, request)
    try:
        event = TicketNumberAssigned.of(
            request,
            answer.number,
            answer.assigned_at,
            padding=padding,
            trace=record.trace,
        )
    except ValidationError:
        damaged = DamagedKeyRecordError("the recorded assignment cannot be announced")
        return Retry(record, damaged, request)
    return (Assigned if new else Replayed)(record, request, event)


def announcements(results: Iterable[Result]) -> dict[str, Announcement]:
    """Return one announcement for each number among the results, by event id."""
    found: dict[str, Announcement] = {}
    for result in results:
        if isinstance(result, Numbered):
            event_id, replayed = result.event.id, isinstance(result, Replayed)
            if event_id not in found or not replayed:
                found[event_id] = Announcement(result.event, replayed)
    return found


def hold_back(results: Sequence[Result]) -> list[Result]:
    """On a FIFO queue, report the records after a failure in their group.

    Poison is no failure: it takes no number, so no later message overtakes it.
    """
    held: list[Result] = []
    failed_groups: set[str | None] = set()
    for result in results:
        record = result.record
        if record.is_fifo and record.group_id in failed_groups:
            error = NotAttemptedError("an earlier message of the group failed")
            held.append(retry(result, error))
            continue
        if record.is_fifo and isinstance(result, Retry):
            failed_groups.add(record.group_id)
        held.append(result)
    return held
