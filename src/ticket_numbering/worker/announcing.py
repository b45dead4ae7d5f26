"""The events and dead letters of a batch, and the retries of those that fail."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from ticket_numbering.allocation.store import TimeLeft
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.errors import NotAttemptedError
from ticket_numbering.contract.events import RefusedRequest, TicketRefused
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.ports import DeadLetter, DeadLetterQueue, Publisher
from ticket_numbering.worker.project_task import caught
from ticket_numbering.worker.results import (
    Numbered,
    Poison,
    Refused,
    Replayed,
    Result,
    Retry,
    retry,
)

Item = TypeVar("Item")

ANNOUNCED_DELIVERIES: Final = 4
"""Up to this delivery, poison is not dead-lettered before it was announced."""


@dataclass(slots=True)
class Announcer:
    """Announces the results of a batch, each event once.

    One thread at a time calls it, so that a FIFO topic keeps the order. Replays are
    announced too: the first delivery may have died before it announced the number.
    """

    publisher: Publisher
    time_left: TimeLeft
    clock: Callable[[], float]
    has_failed: bool = False
    """Whether the last call did not publish an event; it is due again."""
    accepted_at: dict[str, float] = field(default_factory=dict)
    """When each event was published, by its id."""

    def announce(self, results: Sequence[Result]) -> Mapping[str, Exception]:
        """Publish the events that are not out yet.

        Returns:
            The errors of the unpublished, by event id.
        """
        due = {
            event_id: envelope
            for event_id, envelope in announcements(results).items()
            if event_id not in self.accepted_at
        }
        failures = failures_of(self._publish, due)
        self.accepted_at |= dict.fromkeys(due.keys() - failures.keys(), self.clock())
        self.has_failed = bool(failures)
        return failures

    def _publish(self, envelopes: Sequence[Envelope]) -> Mapping[str, Exception]:
        return self.publisher.publish(envelopes, self.time_left)


def with_event(result: Result, source: str) -> Result:
    """Return a refusal with its event, if project and key can be read."""
    if not isinstance(result, Refused | Poison):
        return result
    record = result.record
    key = CreateTicket.key_of(record.body or "")
    if key is None:
        return result
    refused = RefusedRequest(
        project_id=key.project_id,
        idempotency_key=key.idempotency_key,
        error_type=type(result.error).__name__,
        field=result.error.field,
        message_id=record.message_id,
        sent_at=record.sent_time,
    )
    return replace(result, event=TicketRefused.of(refused, source=source))


def announcements(results: Sequence[Result]) -> dict[str, Envelope]:
    """Return the events of the results by id, each once: numbers, then refusals."""
    numbers: dict[str, Envelope] = {}
    refusals: dict[str, Envelope] = {}
    for result in results:
        if isinstance(result, Numbered):
            event_id, replayed = result.event.id, isinstance(result, Replayed)
            if event_id not in numbers or not replayed:
                numbers[event_id] = _envelope(result, replayed=replayed)
        elif isinstance(result, Refused | Poison) and result.event:
            refusals[result.event.id] = Envelope.of_refusal(result.event)
    return numbers | refusals


def _envelope(result: Numbered, *, replayed: bool) -> Envelope:
    return Envelope.of_ticket(
        result.event,
        result.request.key,
        priority=result.request.priority,
        replayed=replayed,
        trace=result.record.trace,
    )


def hold_back(results: Iterable[Result]) -> list[Result]:
    """On a FIFO queue, report the records after a failure in their group.

    A refusal is no failure: it takes no number, so no later message overtakes it.
    """
    failed_groups: set[str | None] = set()

    def behind_a_failure(result: Result) -> Exception | None:
        record = result.record
        if record.is_fifo and record.group_id in failed_groups:
            return NotAttemptedError("an earlier message of the group failed")
        if record.is_fifo and isinstance(result, Retry):
            failed_groups.add(record.group_id)
        return None

    return _returned(results, behind_a_failure)


def numbers_reported(
    results: Iterable[Result], failures: Mapping[str, Exception]
) -> list[Result]:
    """Return the numbers to the queue whose events are not out."""

    def unannounced(result: Result) -> Exception | None:
        return failures.get(result.event.id) if isinstance(result, Numbered) else None

    return _returned(results, unannounced)


def refusals_reported(
    results: Iterable[Result], failures: Mapping[str, Exception]
) -> list[Result]:
    """Return the refusals to the queue whose events are not out.

    Poison goes to the dead-letter queue without its event in the end, for SQS
    would move it there without its reason.
    """

    def unannounced(result: Result) -> Exception | None:
        if not isinstance(result, Refused | Poison) or result.event is None:
            return None
        deliveries = result.record.receive_count
        if isinstance(result, Poison) and deliveries > ANNOUNCED_DELIVERIES:
            return None
        return failures.get(result.event.id)

    return _returned(results, unannounced)


def dead_lettered(
    results: Sequence[Result], queue: DeadLetterQueue, time_left: TimeLeft
) -> list[Result]:
    """Send the poison; return the unsent to the queue."""
    dead_letters = {
        result.record.message_id: DeadLetter(result.record, result.error)
        for result in results
        if isinstance(result, Poison)
    }
    failures = failures_of(lambda items: queue.send(items, time_left), dead_letters)

    def unsent(result: Result) -> Exception | None:
        is_poison = isinstance(result, Poison)
        return failures.get(result.record.message_id) if is_poison else None

    return _returned(results, unsent)


def _returned(
    results: Iterable[Result], why: Callable[[Result], Exception | None]
) -> list[Result]:
    """Return the results, those with a reason to as retries."""
    reasons = [(result, why(result)) for result in results]
    return [retry(result, error) if error else result for result, error in reasons]


def failures_of(
    send: Callable[[Sequence[Item]], Mapping[str, Exception]], items: Mapping[str, Item]
) -> Mapping[str, Exception]:
    """Send the items, if there are any; return the errors of the unsent."""
    if not items:
        return {}
    failures = caught(lambda: send(list(items.values())))
    return (
        dict.fromkeys(items, failures) if isinstance(failures, Exception) else failures
    )
