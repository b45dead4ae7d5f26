"""A batch of records: every one of them gets its outcome, whatever happens to others.

Parse, collapse equal keys, look up what was delivered before, allocate each project's
numbers side by side, announce, dead-letter. Each of them ends in time for the next;
poison comes last, so it uses up nobody's time but its own.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol, TypeVar

from ticket_numbering.allocation import Allocation, AllocationRun, Allocator
from ticket_numbering.batch_api import TimeLeft
from ticket_numbering.errors import (
    AnnouncementError,
    DeadLetterError,
    PoisonMessageError,
)
from ticket_numbering.messages import CreateTicket, RequestKey
from ticket_numbering.observability import logger
from ticket_numbering.ports import Assignment
from ticket_numbering.results import (
    Outcome,
    announcements,
    first_of_each_key,
    hold_back,
    settle,
)
from ticket_numbering.sns_publisher import Announcement
from ticket_numbering.sqs_dead_letters import DeadLetter
from ticket_numbering.sqs_record import QueueRecord
from ticket_numbering.turns import Turns

MAX_PROJECTS_SIDE_BY_SIDE: Final = 10
"""Threads, and so connections, that a batch of many projects uses."""

KEYS_A_LOOKUP: Final = 100
"""As many as one BatchGetItem takes; between two of them the time is checked."""

LOOKUP_SHARE: Final = 1 / 3
"""Of the time that is left, after which no more is looked up."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Announcer(Protocol):
    """Announces assigned numbers."""

    def announce(
        self, announcements: Sequence[Announcement], time_left: TimeLeft
    ) -> Mapping[str, AnnouncementError]:
        """Publish, and return the errors of what was not published, by event id."""
        ...


class DeadLetters(Protocol):
    """Takes poison messages."""

    def send(
        self, letters: Sequence[DeadLetter], time_left: TimeLeft
    ) -> Mapping[str, DeadLetterError]:
        """Send, and return the errors of what was not sent, by message id."""
        ...


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What a batch came to."""

    outcomes: Sequence[Outcome]
    """One a record, in the order of the batch."""
    allocations: Sequence[Allocation]
    """One a project that numbers were tried for."""
    announcements_failed: int


@dataclass(frozen=True, slots=True)
class Worker:
    """Turns batches of records into numbered, announced tickets."""

    allocator: Allocator
    announcer: Announcer
    dead_letters: DeadLetters
    pool: Callable[[int], Executor] = ThreadPoolExecutor
    """Makes what runs the projects of a batch side by side, at most so many at once."""

    def handle(
        self, records: Sequence[QueueRecord], time_left: TimeLeft
    ) -> BatchReport:
        """Process the batch.

        Args:
            records: The records in the order of the event.
            time_left: Seconds left of the invocation.
        """
        outcomes = [_read(record) for record in records]
        firsts = first_of_each_key(outcomes)
        recorded = self._look_up_redelivered(outcomes, time_left)
        fresh = [each for key, each in firsts.items() if key not in recorded]
        allocations = self._allocate(fresh, time_left)
        answers: dict[RequestKey, Assignment | Exception] = dict(recorded)
        for allocation in allocations:
            answers |= allocation.answers
        outcomes = [settle(outcome, firsts, answers) for outcome in outcomes]
        outcomes, failed = self._announce(outcomes, time_left)
        # Poison that cannot be sent holds nobody back: it has no place in the sequence.
        outcomes = self._dead_letter(hold_back(outcomes), time_left)
        return BatchReport(outcomes, allocations, failed)

    def _look_up_redelivered(
        self, outcomes: Iterable[Outcome], time_left: TimeLeft
    ) -> Mapping[RequestKey, Assignment | Exception]:
        """Find what was answered before, at the cost of a read.

        Only a shortcut: where it fails, or takes too long, the keys' own conditions
        give the answer.
        """
        # Each key once, and in the order of the batch.
        keys = [
            *dict.fromkeys(
                outcome.request.key
                for outcome in outcomes
                if outcome.request and outcome.record.receive_count > 1
            )
        ]
        left_for_others = time_left() * (1 - LOOKUP_SHARE)
        recorded: dict[RequestKey, Assignment | Exception] = {}
        while keys and time_left() >= left_for_others:
            some, keys = keys[:KEYS_A_LOOKUP], keys[KEYS_A_LOOKUP:]
            found = _contained(partial(self.allocator.store.recorded, some))
            if isinstance(found, Exception):
                logger.warning("lookup of redelivered requests failed", exc_info=found)
                break
            recorded |= found
        return recorded

    def _allocate(
        self, requests: Iterable[CreateTicket], time_left: TimeLeft
    ) -> list[Allocation]:
        projects: dict[str, list[CreateTicket]] = defaultdict(list)
        for request in requests:
            projects[request.project_id].append(request)

        if len(projects) > 1:
            return self._allocate_side_by_side(projects, time_left)
        runs = [
            self.allocator.start(project_id, some, time_left)
            for project_id, some in projects.items()
        ]
        return [run.result(_contained(run.work)) for run in runs]

    def _allocate_side_by_side(
        self, projects: Mapping[str, Sequence[CreateTicket]], time_left: TimeLeft
    ) -> list[Allocation]:
        runs: dict[str, AllocationRun] = {}
        errors: dict[str, Exception] = {}

        def advance(project_id: str) -> float | None:
            if project_id not in runs:
                requests = projects[project_id]
                runs[project_id] = self.allocator.start(project_id, requests, time_left)
            pause = _contained(runs[project_id].advance)
            if isinstance(pause, Exception):
                errors[project_id] = pause
                return None
            return pause

        tasks = [partial(advance, project_id) for project_id in projects]
        turns = Turns(tasks, time_left, self.allocator.sleep)
        threads = min(len(projects), MAX_PROJECTS_SIDE_BY_SIDE)
        with self.pool(threads) as pool:
            list(pool.map(turns.take, range(threads)))
        return [runs[each].result(errors.get(each)) for each in projects]

    def _announce(
        self, outcomes: Sequence[Outcome], time_left: TimeLeft
    ) -> tuple[list[Outcome], int]:
        """Announce each number once, replays too.

        The first delivery may have died between its commit and its announcement.
        """
        failures = _failures(
            lambda items: self.announcer.announce(items, time_left),
            announcements(outcomes),
        )
        announced = [
            replace(each, error=failures.get(each.ticket_key or "", each.error))
            for each in outcomes
        ]
        return announced, len(failures)

    def _dead_letter(
        self, outcomes: Sequence[Outcome], time_left: TimeLeft
    ) -> list[Outcome]:
        """Send the poison."""
        letters = {
            outcome.record.message_id: DeadLetter(outcome.record, outcome.error)
            for outcome in outcomes
            if isinstance(outcome.error, PoisonMessageError)
        }
        failures = _failures(
            lambda items: self.dead_letters.send(items, time_left), letters
        )
        return [
            replace(
                each,
                error=failures.get(each.record.message_id, each.error),
                dead_lettered=each.record.message_id in letters,
            )
            for each in outcomes
        ]


def _contained(action: Callable[[], Result]) -> Result | Exception:
    """Run the action; a failure, even a bug, becomes a value of this record alone."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - the edge: a bug must not fail the batch
        return error


def _failures(
    send: Callable[[Sequence[Item]], Mapping[str, Exception]], items: Mapping[str, Item]
) -> Mapping[str, Exception]:
    if not items:
        return {}
    failures = _contained(lambda: send(list(items.values())))
    return (
        dict.fromkeys(items, failures) if isinstance(failures, Exception) else failures
    )


def _read(record: QueueRecord) -> Outcome:
    request = _contained(record.parse)
    if isinstance(request, Exception):
        return Outcome(record, error=request)
    return Outcome(record, request)
