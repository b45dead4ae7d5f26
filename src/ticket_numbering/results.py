"""What becomes of the records of a batch: how an answer turns into outcomes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pydantic import ValidationError

from ticket_numbering.errors import (
    DamagedKeyRecordError,
    IdempotencyMismatchError,
    NotAttemptedError,
    PoisonMessageError,
)
from ticket_numbering.messages import (
    CreateTicket,
    RequestKey,
    TicketNumberAssigned,
    ticket_key,
)
from ticket_numbering.ports import Assignment
from ticket_numbering.sns_publisher import Announcement
from ticket_numbering.sqs_record import QueueRecord


class OutcomeKind(StrEnum):
    """What can become of a record."""

    ASSIGNED = "assigned"
    REPLAYED = "replayed"
    POISON = "poison"
    TRANSIENT = "transient"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a record: an assignment, or the error that prevented it."""

    record: QueueRecord
    request: CreateTicket | None = None
    assignment: Assignment | None = None
    event: TicketNumberAssigned | None = None
    """What announces the assignment."""
    error: Exception | None = None
    dead_lettered: bool = False
    """Whether the record was sent to the dead-letter queue, or tried to be."""

    @property
    def kind(self) -> OutcomeKind:
        """An unexpected error counts as transient: the message must not be lost."""
        if isinstance(self.error, PoisonMessageError):
            return OutcomeKind.POISON
        if self.error is not None or self.assignment is None:
            return OutcomeKind.TRANSIENT
        if self.assignment.replayed:
            return OutcomeKind.REPLAYED
        return OutcomeKind.ASSIGNED

    @property
    def is_done(self) -> bool:
        """Whether the message may be deleted; whatever we do not know may not."""
        match self.kind:
            case OutcomeKind.ASSIGNED | OutcomeKind.REPLAYED:
                return True
            case OutcomeKind.POISON:
                return self.dead_lettered
            case _:
                return False

    @property
    def ticket_key(self) -> str | None:
        """The number's display form, if the record has a number."""
        if self.request is None or self.assignment is None:
            return None
        return ticket_key(self.request.project_id, self.assignment.number)


def first_of_each_key(outcomes: Iterable[Outcome]) -> dict[RequestKey, CreateTicket]:
    """Collapse equal keys: the same one twice would refuse the whole transaction."""
    firsts: dict[RequestKey, CreateTicket] = {}
    for outcome in sorted(outcomes, key=lambda each: each.record.turn):
        if outcome.request:
            firsts.setdefault(outcome.request.key, outcome.request)
    return firsts


def settle(
    outcome: Outcome,
    firsts: Mapping[RequestKey, CreateTicket],
    answers: Mapping[RequestKey, Assignment | Exception],
) -> Outcome:
    """Tell what the answer to a key means for one of the records that hold it."""
    request = outcome.request
    if request is None:
        return outcome
    first, answer = firsts[request.key], answers[request.key]
    if isinstance(answer, Assignment):
        return _settle_numbered(outcome, request, answer, repeated=request is not first)
    if isinstance(answer, PoisonMessageError) and request != first:
        answer = NotAttemptedError("another request of the same key came first")
    return replace(outcome, error=answer)


def _settle_numbered(
    outcome: Outcome, request: CreateTicket, answer: Assignment, *, repeated: bool
) -> Outcome:
    if not request.matches(answer.fingerprint):
        used = ticket_key(request.project_id, answer.number)
        reason = f"idempotency_key: already used for {used}, a different ticket"
        error = IdempotencyMismatchError(reason, "idempotency_key")
        return replace(outcome, error=error)
    try:
        event = TicketNumberAssigned.of(request, answer.number, answer.assigned_at)
    except ValidationError:
        reason = "the recorded assignment cannot be announced"
        return replace(outcome, error=DamagedKeyRecordError(reason))
    answer = replace(answer, replayed=answer.replayed or repeated)
    return replace(outcome, assignment=answer, event=event)


def announcements(outcomes: Iterable[Outcome]) -> dict[str, Announcement]:
    """Return one announcement for each number among the outcomes, by event id."""
    found: dict[str, Announcement] = {}
    for outcome in outcomes:
        if outcome.event and outcome.assignment:
            replayed = outcome.assignment.replayed
            if outcome.event.id not in found or not replayed:
                found[outcome.event.id] = Announcement(outcome.event, replayed)
    return found


def hold_back(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """On a FIFO queue, report what follows a failure in its group: order is kept.

    Poison is no failure: it takes no number, so nobody comes before its turn.
    """
    held: list[Outcome] = []
    failed_groups: set[str | None] = set()
    for outcome in outcomes:
        record = outcome.record
        if record.is_fifo and record.group_id in failed_groups:
            error = NotAttemptedError("an earlier message of the group failed")
            held.append(replace(outcome, error=error))
            continue
        if record.is_fifo and outcome.kind is OutcomeKind.TRANSIENT:
            failed_groups.add(record.group_id)
        held.append(outcome)
    return held
