"""The progress of a batch: the results, their announcement, and the retries."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from ticket_numbering.allocation.progress import Progress
from ticket_numbering.contract.errors import (
    IdempotencyMismatchError,
    NotAttemptedError,
    SequenceFullError,
)
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.messages import (
    Assignment,
    CreateTicket,
    RequestIdentity,
    RequestKey,
)
from ticket_numbering.contract.time_left import TimeLeft
from ticket_numbering.worker.events import Events, announcements
from ticket_numbering.worker.observability import logger
from ticket_numbering.worker.ports import Publisher, failures_of
from ticket_numbering.worker.results import (
    Assigned,
    Numbered,
    Pending,
    Poison,
    Refused,
    Replayed,
    Result,
    Retry,
    caught,
    failed,
    retry,
)

ANNOUNCED_DELIVERIES: Final = 4
"""Up to this delivery, poison is dead-lettered only after its announcement."""


@dataclass(slots=True)
class BatchProgress:
    """The answers to the records of a batch so far, each event announced once.

    One thread at a time announces, so that a FIFO topic keeps the order. Replays are
    announced too: the first delivery may have failed before it announced the number.
    """

    entries: Sequence[Pending | Poison | Retry]
    """One a record, in the order of the batch."""
    events: Events
    publisher: Publisher
    time_left: TimeLeft
    clock: Callable[[], float]
    recorded: Mapping[RequestKey, Assignment | Exception] = field(default_factory=dict)
    """The earlier answers, as a lookup read them."""
    allocations: dict[str, Progress] = field(default_factory=dict)
    """The progress of the other requests, by project."""
    has_failed: bool = False
    """Whether the last announcement failed for an event, which is due again."""
    accepted_at: dict[str, float] = field(default_factory=dict)
    """When each event was published, by its id."""
    _tried: Mapping[RequestIdentity, Pending] = field(init=False)
    """The record that stands for all equal requests."""
    _results: dict[int, Result] = field(default_factory=dict)
    """The final results by index."""

    def __post_init__(self) -> None:
        self._tried = deduplicate(self.pending)

    @property
    def pending(self) -> list[Pending]:
        """The records that hold a request."""
        return [entry for entry in self.entries if isinstance(entry, Pending)]

    @property
    def projects(self) -> Mapping[str, Sequence[CreateTicket]]:
        """The requests of each project that have no earlier answer."""
        projects: dict[str, list[CreateTicket]] = defaultdict(list)
        for entry in self._tried.values():
            if entry.request.key not in self.recorded:
                projects[entry.request.project_id].append(entry.request)
        return projects

    def newly_answered(self) -> list[Result]:
        """Return the results that became final since the last call.

        The answer to a request is final once no request of its key is pending: until
        then the number of an equal request can replace a refusal. Call it only while no
        task runs.
        """
        allocations = self.allocations.values()
        pending = {
            request.key for progress in allocations for request in progress.pending
        }
        return [
            self._result(index)
            for index, entry in enumerate(self.entries)
            if index not in self._results
            and not (isinstance(entry, Pending) and entry.request.key in pending)
        ]

    def results(self) -> list[Result]:
        """Return the result of each record; a request still pending has failed."""
        return [self._result(index) for index in range(len(self.entries))]

    def announce(self, results: Iterable[Result]) -> Mapping[str, Exception]:
        """Publish the events that are not published yet.

        Returns:
            The errors of the unpublished events, by event id.
        """
        due = {
            event_id: envelope
            for event_id, envelope in announcements(results).items()
            if event_id not in self.accepted_at
        }
        failures = failures_of(
            lambda envelopes: self.publisher.publish(envelopes, self.time_left), due
        )
        self.accepted_at |= dict.fromkeys(due.keys() - failures.keys(), self.clock())
        self.has_failed = bool(failures)
        return failures

    def _result(self, index: int) -> Result:
        if index not in self._results:
            entry = self.entries[index]
            result = self._resolved(entry) if isinstance(entry, Pending) else entry
            self._results[index] = self._with_event(result)
        return self._results[index]

    def _resolved(self, entry: Pending) -> Result:
        record, request, is_new = entry.record, entry.request, False
        answer: Assignment | Exception | None = self.recorded.get(request.key)
        if answer is None:
            progress = self.allocations[request.project_id]
            answer = progress.answer_to(request)
            was_tried = entry is self._tried[request.identity]
            is_new = was_tried and request.key in progress.assigned
        if isinstance(answer, SequenceFullError):
            return Refused(record, request, answer)
        if isinstance(answer, Exception):
            return failed(record, answer, request)
        if not request.matches(answer.fingerprint):
            used = ticket_key(request.project_id, answer.number)
            reason = f"idempotency_key: already used for {used}, a different ticket"
            error = IdempotencyMismatchError(reason, "idempotency_key")
            return Poison(record, error, request)
        event = caught(partial(self.events.of_number, entry, answer))
        if isinstance(event, Exception):
            return failed(record, event, request)
        return (Assigned if is_new else Replayed)(record, request, event)

    def _with_event(self, result: Result) -> Result:
        """Return a refusal with its event; a bug in it harms no neighbour."""
        if not isinstance(result, Refused | Poison):
            return result
        event = caught(partial(self.events.of_refusal, result))
        if not isinstance(event, Exception):
            return replace(result, event=event)
        logger.error("a refusal cannot be announced", exc_info=event)
        return retry(result, event) if isinstance(result, Refused) else result


def deduplicate(pending: Iterable[Pending]) -> dict[RequestIdentity, Pending]:
    """Return for each request its record with the highest cap, in the order of sending.

    If the highest cap is refused, all are.
    """
    records: dict[RequestIdentity, Pending] = {}
    for entry in sorted(pending, key=lambda entry: entry.record.sort_key):
        request = entry.request
        if request.cap > records.setdefault(request.identity, entry).request.cap:
            records[request.identity] = entry
    return records


def with_retries(
    results: Iterable[Result], failures: Mapping[str, Exception]
) -> list[Result]:
    """Turn results into retries: unannounced ones, and those a FIFO group holds back.

    A failure holds back the later records of its group, and so does an unannounced
    number. A refusal takes no number, so it holds back no later message.
    """
    failed_groups: set[str | None] = set()
    retried: list[Result] = []
    for result in results:
        record, error = result.record, _unannounced(result, failures)
        if record.is_fifo and record.group_id in failed_groups:
            error = NotAttemptedError("an earlier message of the group failed")
        elif isinstance(result, Retry) or (error and isinstance(result, Numbered)):
            failed_groups.add(record.group_id)
        retried.append(retry(result, error) if error else result)
    return retried


def _unannounced(result: Result, failures: Mapping[str, Exception]) -> Exception | None:
    """Return the error that a result must be retried for: its event is unpublished.

    After `ANNOUNCED_DELIVERIES`, poison is dead-lettered without its event: SQS would
    move it without its reason.
    """
    if isinstance(result, Retry) or result.event is None:
        return None
    deliveries = result.record.receive_count
    if isinstance(result, Poison) and deliveries > ANNOUNCED_DELIVERIES:
        return None
    return failures.get(result.event.id)
