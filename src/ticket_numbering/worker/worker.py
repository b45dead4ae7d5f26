"""A batch of records: each gets its result, independent of the others.

Parse, deduplicate, look up redelivered requests, allocate each project's numbers
side by side, announce numbers and refusals, dead-letter. Each of them ends in time for
the next; poison comes last, so it uses up no time but its own.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from time import sleep
from typing import Final

from ticket_numbering.allocation.allocation import Allocator, TimeLeft
from ticket_numbering.allocation.progress import Allocation
from ticket_numbering.allocation.store import MAX_KEYS_PER_READ
from ticket_numbering.contract.errors import InvalidMessageError, TransientError
from ticket_numbering.contract.messages import (
    Assignment,
    CreateTicket,
    RequestIdentity,
    RequestKey,
)
from ticket_numbering.worker.announcing import (
    announcements,
    dead_lettered,
    failures_of,
    hold_back,
    numbers_reported,
    refusals_reported,
    with_event,
)
from ticket_numbering.worker.observability import logger
from ticket_numbering.worker.ports import DeadLetterQueue, Publisher
from ticket_numbering.worker.project_task import ProjectTask, caught
from ticket_numbering.worker.results import (
    Pending,
    Poison,
    Refused,
    Result,
    Retry,
    deduplicate,
    failed,
    resolve,
    retry,
)
from ticket_numbering.worker.sqs_record import SQSRecord
from ticket_numbering.worker.turns import Turns

MAX_PROJECTS_SIDE_BY_SIDE: Final = 10
"""Threads, and so connections, that a batch of many projects uses."""

LOOKUP_SHARE: Final = 1 / 3
"""Of the time that is left, after which no more is looked up."""


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The outcome of a batch."""

    results: Sequence[Result]
    """One a record, in the order of the batch."""
    allocations: Sequence[Allocation] = ()
    """One a project that numbers were tried for."""
    announcements_failed: int = 0


@dataclass(frozen=True, slots=True)
class Worker:
    """Turns batches of records into numbered, announced tickets."""

    allocator: Allocator
    publisher: Publisher
    dead_letters: DeadLetterQueue
    sleep: Callable[[float], None] = sleep
    pool: Callable[[int], Executor] = field(default=ThreadPoolExecutor)
    """Makes the threads that run the projects of a batch side by side."""
    number_padding: int = 0
    """The digits of a number in an announcement's `display`, at least."""
    allowed_projects: re.Pattern[str] = re.compile(".*")
    """A message of another project is poison: a typo opens no sequence."""
    source: str = field(kw_only=True)
    """The stack, as the CloudEvents source of every event."""

    def handle(self, records: Sequence[SQSRecord], time_left: TimeLeft) -> BatchReport:
        """Process the batch.

        Args:
            records: The records in the order of the event.
            time_left: Seconds left of the invocation.
        """
        batch = [self._parse(record) for record in records]
        pending = [entry for entry in batch if isinstance(entry, Pending)]
        requests = deduplicate(pending)
        recorded = self._look_up_redelivered(pending, time_left)
        allocations = self._allocate(
            [one for one in requests.values() if one.key not in recorded], time_left
        )
        resolved = self._resolve(batch, requests, recorded, allocations)
        resolved = [self._announceable(result) for result in resolved]
        failures = self._publish(resolved, time_left)
        # A number that is not announced holds its FIFO group; a refusal holds nothing.
        results = hold_back(numbers_reported(resolved, failures))
        results = refusals_reported(results, failures)
        results = dead_lettered(results, self.dead_letters, time_left)
        return BatchReport(results, allocations, len(failures))

    def _parse(self, record: SQSRecord) -> Pending | Poison | Retry:
        request = caught(record.parse)
        if isinstance(request, Exception):
            return failed(record, request)
        if not self.allowed_projects.fullmatch(request.project_id):
            reason = "project_id: not among the allowed projects"
            error = InvalidMessageError(reason, "project_id")
            return failed(record, error, request)
        return Pending(record, request)

    def _look_up_redelivered(
        self, pending: Iterable[Pending], time_left: TimeLeft
    ) -> Mapping[RequestKey, Assignment | Exception]:
        """Find earlier answers, at the cost of a read.

        Only a shortcut: where it fails, or takes too long, the keys' own conditions
        give the answer.
        """
        # Each key once, and in the order of the batch.
        keys = [
            *dict.fromkeys(
                entry.request.key for entry in pending if entry.record.receive_count > 1
            )
        ]
        left_for_others = time_left() * (1 - LOOKUP_SHARE)
        recorded: dict[RequestKey, Assignment | Exception] = {}
        while keys and time_left() >= left_for_others:
            some, keys = keys[:MAX_KEYS_PER_READ], keys[MAX_KEYS_PER_READ:]
            found = caught(partial(self.allocator.store.read_keys, some))
            if isinstance(found, Exception):
                # Only a bug's stack trace is wanted.
                bug = None if isinstance(found, TransientError) else found
                line = {"error_type": type(found).__name__, "error": str(found)}
                message = "lookup of redelivered requests failed"
                logger.warning(message, extra=line, exc_info=bug)
                break
            recorded |= found
        return recorded

    def _allocate(
        self, requests: Iterable[CreateTicket], time_left: TimeLeft
    ) -> list[Allocation]:
        """Allocate each project's numbers, on a few threads."""
        projects: dict[str, list[CreateTicket]] = defaultdict(list)
        for request in requests:
            projects[request.project_id].append(request)
        tasks = [
            ProjectTask(self.allocator, project_id, of_project, time_left)
            for project_id, of_project in projects.items()
        ]
        turns = Turns(tasks, time_left, self.sleep)
        threads = min(len(projects), MAX_PROJECTS_SIDE_BY_SIDE)
        if threads > 1:
            with self.pool(threads) as pool:
                list(pool.map(turns.take, range(threads)))
        else:
            turns.take()
        return [task.allocation for task in tasks if task.allocation]

    def _resolve(
        self,
        batch: Iterable[Pending | Poison | Retry],
        requests: Mapping[RequestIdentity, CreateTicket],
        recorded: Mapping[RequestKey, Assignment | Exception],
        allocations: Iterable[Allocation],
    ) -> list[Result]:
        by_project = {allocation.project_id: allocation for allocation in allocations}

        def result(entry: Pending | Poison | Retry) -> Result:
            if not isinstance(entry, Pending):
                return entry
            request, is_new = entry.request, False
            answer: Assignment | Exception | None = recorded.get(request.key)
            if answer is None:
                allocation = by_project[request.project_id]
                answer = allocation.answer_to(request)
                # Of the records of one request, the one that was tried is new.
                was_tried = request is requests[request.identity]
                is_new = was_tried and request.key in allocation.assigned
            return resolve(
                entry,
                answer,
                new=is_new,
                source=self.source,
                padding=self.number_padding,
            )

        return [result(entry) for entry in batch]

    def _announceable(self, result: Result) -> Result:
        """Return a refusal with its event; a bug in it harms no neighbour."""
        found = caught(lambda: with_event(result, self.source))
        if not isinstance(found, Exception):
            return found
        logger.error("a refusal cannot be announced", exc_info=found)
        return retry(result, found) if isinstance(result, Refused) else result

    def _publish(
        self, results: Sequence[Result], time_left: TimeLeft
    ) -> Mapping[str, Exception]:
        """Announce each number and each refusal once, replays too.

        The first delivery may have died between its commit and its announcement.

        Returns:
            The errors of the unpublished, by event id.
        """
        return failures_of(
            lambda envelopes: self.publisher.publish(envelopes, time_left),
            announcements(results),
        )
