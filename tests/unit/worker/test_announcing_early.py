"""Whenever a whole batch only waits, its answers so far are announced."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event

import pytest

from tests.support.builders import (
    block_of,
    create_ticket,
    create_tickets,
    fifo_record,
    queue_record,
    ticket_fields,
)
from tests.support.fakes import (
    FakePublisher,
    FakeTime,
    Fault,
    everywhere,
    held,
    in_project,
)
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.store import Cancelled, Reason, TimeLeft
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.errors import (
    AnnouncementError,
    IdempotencyMismatchError,
    NotAttemptedError,
    SequenceFullError,
    StoreThrottledError,
)
from ticket_numbering.worker.results import Assigned, Replayed
from ticket_numbering.worker.sqs_record import SQSRecord
from ticket_numbering.worker.worker import BatchReport

START = FakeTime().left

DEADLOCK_SECONDS = 20
"""Ends a test that hangs; no right order takes so long."""

THROTTLED = in_project("HOT", everywhere(Reason.THROTTLED))


def passes(_: Block) -> None:
    """Let a write be."""


@dataclass
class System(WorkerOnFakes):
    """A worker over fakes."""

    max_attempts: int = 25

    def handle(self, *records: SQSRecord, faults: Sequence[Fault]) -> BatchReport:
        """Process a batch, with faults of the first writes."""
        self.store.faults += faults
        # A single thread, so that the order is the same every time.
        return self.report(*records, pool=lambda _: ThreadPoolExecutor(1))


@pytest.fixture
def system() -> System:
    """Return a worker over empty tables."""
    return System()


def hot(count: int = 1) -> list[SQSRecord]:
    """Return records of the project that is throttled."""
    return [*map(queue_record, create_tickets(count, "HOT"))]


class TestAnswersSoFar:
    """All of them, in the order of the end, and each once."""

    def test_answers_are_announced_before_the_wait_and_dead_letters_last(
        self, system: System
    ) -> None:
        """Numbers, then refusals; a dead-letter queue that hangs delays nobody."""
        replayed = create_ticket("QUIET")
        system.store.put(block_of([replayed]))
        invalid = queue_record(ticket_fields(no_such_field="unknown"))
        full = queue_record(create_ticket("QUIET", max_number=1))
        quiet = queue_record(create_ticket("QUIET"))

        system.handle(
            *(invalid, full, *hot(), quiet),
            queue_record(replayed, receive_count=2),
            faults=[THROTTLED] * 3,
        )

        (at, early), (later, last) = system.publisher.calls
        assert early == [
            *("QUIET-2", "QUIET-1"),
            f"refused/{invalid.message_id}/InvalidMessageError/body",
            f"refused/{full.message_id}/{SequenceFullError.__name__}/max_number",
        ]
        assert last == ["HOT-1"]
        assert START == at > later == system.dead_letters.calls[0][0]

    @pytest.mark.parametrize(
        ("faults", "announced"),
        [
            ([passes, THROTTLED, THROTTLED], [50, 10]),
            ([passes, THROTTLED, passes, THROTTLED], [50, 50, 10]),
        ],
        ids=["twice in a row", "again"],
    )
    def test_each_block_is_announced_once_when_its_own_project_backs_off(
        self, system: System, faults: list[Fault], announced: list[int]
    ) -> None:
        system.handle(*hot(sum(announced)), faults=faults)

        assert [len(ids) for _, ids in system.publisher.calls] == announced

    def test_refusal_waits_when_a_rival_of_its_key_does(self, system: System) -> None:
        """Another worker's number for an equal request can still replace it."""
        system.store.fill(1, "HOT")
        equal = create_ticket("HOT", "k")
        capped = create_ticket("HOT", "k", max_number=1)
        rival = create_ticket("HOT", "k", title="Another")

        def numbered_elsewhere(_: Block) -> None:
            system.store.put(block_of([equal], 2))

        report = system.handle(
            queue_record(capped),
            queue_record(rival),
            faults=[THROTTLED, numbered_elsewhere],
        )

        first, second = report.results
        assert isinstance(first, Replayed)
        assert isinstance(getattr(second, "error", None), IdempotencyMismatchError)
        assert [event_id.split("/")[-2:] for event_id in system.publisher.ids] == [
            ["HOT-2"],
            ["IdempotencyMismatchError", "idempotency_key"],
        ]


@dataclass
class Meeting(FakePublisher):
    """Two projects on two threads; each step waits for one of the other thread."""

    asleep: Event = field(default_factory=Event)
    publishing: Event = field(default_factory=Event)
    numbered: Event = field(default_factory=Event)
    missing: list[Event] = field(default_factory=list)
    """The steps that never came."""

    def write(self, block: Block) -> Cancelled | None:
        """Hold HOT back once; let QUIET be numbered when HOT sleeps."""
        if block.project_id == "QUIET":
            self.wait_for(self.asleep)
        elif not self.asleep.is_set():
            return held(block)
        else:
            self.numbered.set()
        return None

    def sleep(self, seconds: float) -> None:
        """Sleep until the number of QUIET is being published."""
        del seconds
        self.asleep.set()
        self.wait_for(self.publishing)

    def publish(
        self, announcements: Sequence[Envelope], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Publish once HOT had its second turn."""
        self.publishing.set()
        self.wait_for(self.numbered)
        return super().publish(announcements, time_left)

    def wait_for(self, step: Event) -> None:
        """Wait for a step of the other thread."""
        if not step.wait(DEADLOCK_SECONDS):
            self.missing.append(step)


def test_project_is_numbered_while_the_answer_of_another_is_published() -> None:
    """Else a call to SNS that hangs would stop every project of the batch."""
    meeting = Meeting()
    system = WorkerOnFakes(publisher=meeting)
    system.time.sleep = meeting.sleep  # type: ignore[method-assign]
    system.store.faults += [meeting.write] * 3

    system.report(*(queue_record(create_ticket(name)) for name in ("QUIET", "HOT")))

    assert meeting.missing == []
    assert meeting.ids == ["QUIET-1", "HOT-1"]


class TestFailure:
    """A failed event is tried again at the end; a held-back number comes again."""

    def test_failed_event_is_announced_at_the_end_and_nothing_else_early(
        self, system: System
    ) -> None:
        """A topic that hangs takes the time of one call, not of one in every wait."""
        system.publisher.refused = {"QUIET-1"}
        quiet = map(queue_record, create_tickets(2, "QUIET"))

        def sns_recovers(_: Block) -> None:
            system.publisher.refused.clear()

        report = system.handle(
            *hot(60), *quiet, faults=[THROTTLED, passes, sns_recovers, THROTTLED]
        )

        (_, early), (_, last) = system.publisher.calls
        assert early == ["QUIET-1", "QUIET-2"]
        assert last == [*[f"HOT-{number}" for number in range(1, 61)], "QUIET-1"]
        assert all(isinstance(result, Assigned) for result in report.results)
        assert report.announcements_failed == 0

    def test_announced_number_comes_again_when_its_group_is_held_back(
        self, system: System
    ) -> None:
        system.max_attempts = 2
        later = fifo_record(create_ticket("QUIET"), "one")

        report = system.handle(
            fifo_record(create_ticket("HOT"), "one"), later, faults=[THROTTLED] * 3
        )
        again = system.handle(later, faults=[])

        errors = [getattr(result, "error", None) for result in report.results]
        assert [*map(type, errors)] == [StoreThrottledError, NotAttemptedError]
        assert isinstance(again.results[0], Replayed)
        assert system.publisher.ids == ["QUIET-1"] * 2
