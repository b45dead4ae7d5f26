"""Makes every event of the worker, and its envelope."""

from collections.abc import Iterable
from dataclasses import dataclass

from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.events import (
    RefusedRequest,
    TicketNumberAssigned,
    TicketRefused,
)
from ticket_numbering.contract.messages import Assignment, RequestKey
from ticket_numbering.worker.results import (
    Numbered,
    Pending,
    Poison,
    Refused,
    Replayed,
    Result,
)


@dataclass(frozen=True, slots=True)
class Events:
    """Makes the events of a stack."""

    source: str
    """The stack, as the CloudEvents source of every event."""
    padding: int = 0
    """The minimum of digits that an announcement's `display` shows."""

    def of_number(
        self, pending: Pending, assignment: Assignment
    ) -> TicketNumberAssigned:
        """Return the event of a number, for a record that requests it."""
        return TicketNumberAssigned.of(
            pending.request,
            assignment,
            source=self.source,
            padding=self.padding,
            trace=pending.record.trace,
        )

    def of_refusal(self, result: Refused | Poison) -> TicketRefused | None:
        """Return the event of a refusal; None if project or key cannot be read."""
        record, error = result.record, result.error
        key = _key_of(result)
        if key is None:
            return None
        refused = RefusedRequest(
            project_id=key.project_id,
            idempotency_key=key.idempotency_key,
            error_type=type(error).__name__,
            field=error.field,
            reason=error.reason,
            message_id=record.message_id,
            sent_at=record.sent_time,
        )
        return TicketRefused.of(refused, source=self.source)


def _key_of(result: Refused | Poison) -> RequestKey | None:
    if result.request:
        return result.request.key
    key = result.error.key if isinstance(result, Poison) else None
    return RequestKey(*key) if key else None


def announcements(results: Iterable[Result]) -> dict[str, Envelope]:
    """Return the distinct events of the results by id: numbers, then refusals."""
    numbers: dict[str, Envelope] = {}
    refusals: dict[str, Envelope] = {}
    for result in results:
        if isinstance(result, Numbered):
            event, replayed = result.event, isinstance(result, Replayed)
            if event.id not in numbers or not replayed:
                numbers[event.id] = Envelope.of_ticket(
                    event,
                    result.request.key,
                    priority=result.request.priority,
                    replayed=replayed,
                    trace=result.record.trace,
                )
        elif isinstance(result, Refused | Poison) and result.event:
            refusals[result.event.id] = Envelope.of_refusal(result.event)
    return numbers | refusals
