"""Processes a batch of records: each gets its result, independent of the others.

Parse, deduplicate, look up redelivered requests, allocate each project's numbers in
parallel, announce numbers and refusals, dead-letter. Each step ends in time for the
next; dead letters come last, so they delay no other message.
While a project backs off and no other runs, the answers so far are announced.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from time import sleep, time
from typing import Final

from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.allocation.progress import Progress
from ticket_numbering.allocation.store import MAX_KEYS_PER_READ
from ticket_numbering.contract.errors import TransientError
from ticket_numbering.contract.limits import Limits
from ticket_numbering.contract.messages import Assignment, CreateTicket, RequestKey
from ticket_numbering.contract.time_left import TimeLeft
from ticket_numbering.worker.batch_progress import BatchProgress, with_retries
from ticket_numbering.worker.events import Events
from ticket_numbering.worker.observability import logger
from ticket_numbering.worker.ports import DeadLetterQueue, Publisher, failures_of
from ticket_numbering.worker.results import (
    Pending,
    Poison,
    Result,
    Retry,
    caught,
    failed,
    retry,
)
from ticket_numbering.worker.sqs_record import SQSRecord
from ticket_numbering.worker.turns import Task, Turns, Work

MAX_PROJECTS_SIDE_BY_SIDE: Final = 10
"""Threads, and so connections, that a batch of many projects uses."""

LOOKUP_SHARE: Final = 1 / 3
"""The share of the remaining time after which no lookup starts."""


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The outcome of a batch."""

    results: Sequence[Result]
    """One a record, in the order of the batch."""
    allocations: Sequence[Progress] = ()
    """One for each project that numbers were tried for."""
    announcements_failed: int = 0
    accepted_at: Mapping[str, float] = field(default_factory=dict)
    """When each event was announced, by its id, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Worker:
    """Turns batches of records into numbered, announced tickets."""

    allocator: Allocator
    publisher: Publisher
    dead_letters: DeadLetterQueue
    sleep: Callable[[float], None] = sleep
    clock: Callable[[], float] = time
    pool: Callable[[int], Executor] = field(default=ThreadPoolExecutor)
    """Makes the threads that run the projects of a batch side by side."""
    turns: type[Turns] = Turns
    """Hands the projects to these threads."""
    limits: Limits = field(default_factory=Limits)
    """A request beyond them is poison."""
    events: Events = field(kw_only=True)
    """Makes the events of the stack."""

    def handle(self, records: Sequence[SQSRecord], time_left: TimeLeft) -> BatchReport:
        """Process the batch; its records are in the order of the event."""
        entries = [self._parse(record) for record in records]
        batch = BatchProgress(
            entries, self.events, self.publisher, time_left, self.clock
        )
        batch.recorded = self._look_up_redelivered(batch.pending, time_left)
        self._allocate(batch)
        results = batch.results()
        failures = batch.announce(results)
        # Last: a dead letter does not come back for its event.
        results = self._dead_lettered(with_retries(results, failures), time_left)
        allocations = [*batch.allocations.values()]
        return BatchReport(results, allocations, len(failures), batch.accepted_at)

    def _parse(self, record: SQSRecord) -> Pending | Poison | Retry:
        request = caught(record.parse)
        if isinstance(request, Exception):
            return failed(record, request)
        if refusal := self.limits.refusal(request):
            return failed(record, refusal, request)
        return Pending(record, request)

    def _look_up_redelivered(
        self, pending: Iterable[Pending], time_left: TimeLeft
    ) -> Mapping[RequestKey, Assignment | Exception]:
        """Return the earlier answers to redelivered requests, at the cost of a read.

        It is only a shortcut: if it fails, or takes too long, the conditions on the
        keys give the answer.
        """
        # Distinct keys, in the order of the batch.
        keys = [
            *dict.fromkeys(
                entry.request.key for entry in pending if entry.record.receive_count > 1
            )
        ]
        left_for_others = time_left() * (1 - LOOKUP_SHARE)
        recorded: dict[RequestKey, Assignment | Exception] = {}
        while keys and time_left() >= left_for_others:
            some, keys = keys[:MAX_KEYS_PER_READ], keys[MAX_KEYS_PER_READ:]
            records = caught(partial(self.allocator.store.read_keys, some))
            if isinstance(records, Exception):
                # Only a bug needs its stack trace.
                bug = None if isinstance(records, TransientError) else records
                line = {"error_type": type(records).__name__, "error": str(records)}
                message = "lookup of redelivered requests failed"
                logger.warning(message, extra=line, exc_info=bug)
                break
            recorded |= records
        return recorded

    def _allocate(self, batch: BatchProgress) -> None:
        """Allocate each project's numbers, on a few threads; announce early.

        A waiting task is due before the deadline reserve begins, so an announcement
        during the wait starts before it, too. A hanging SNS costs as much time as a
        hanging attempt, and only once: a failure ends early announcements.
        """

        def announcement() -> Work | None:
            answered = () if batch.has_failed else batch.newly_answered()
            return partial(batch.announce, answered) if answered else None

        tasks = [self._task(batch, *project) for project in batch.projects.items()]
        turns = self.turns(tasks, batch.time_left, self.sleep, announcement)
        threads = min(len(tasks), MAX_PROJECTS_SIDE_BY_SIDE)
        if threads > 1:
            with self.pool(threads) as pool:
                try:
                    taken = pool.map(turns.take, range(threads))
                except RuntimeError:
                    # No more threads can be started; those that were go on, as this.
                    turns.take()
                else:
                    list(taken)
        else:
            turns.take()

    def _task(
        self, batch: BatchProgress, project_id: str, requests: Sequence[CreateTicket]
    ) -> Task:
        """Return the task that numbers one project's requests, turn by turn."""

        def turn() -> float | None:
            # Starts in its first turn, because a cached number ages quickly.
            if not (progress := batch.allocations.get(project_id)):
                progress = self.allocator.start(project_id, requests)
                progress.in_order = any(entry.record.is_fifo for entry in batch.entries)
                batch.allocations[project_id] = progress
            advance = partial(self.allocator.advance, progress, batch.time_left)
            delay = caught(advance)
            if isinstance(delay, Exception):
                progress.last_error = delay
                return None
            return delay

        return turn

    def _dead_lettered(
        self, results: Sequence[Result], time_left: TimeLeft
    ) -> list[Result]:
        """Send poison to the dead-letter queue; turn failures into retries."""
        failures = failures_of(
            lambda letters: self.dead_letters.send(letters, time_left),
            {
                result.record.message_id: result
                for result in results
                if isinstance(result, Poison)
            },
        )
        return [
            retry(result, failures[result.record.message_id])
            if isinstance(result, Poison) and result.record.message_id in failures
            else result
            for result in results
        ]
