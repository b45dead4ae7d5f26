"""Whenever a whole batch only waits, its answers so far are announced."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.builders import (
    block_of,
    create_ticket,
    create_tickets,
    queue_record,
    ticket_fields,
)
from tests.support.fakes import FakeTime, Fault, everywhere, in_project, passes
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.store import Reason
from ticket_numbering.contract.errors import IdempotencyMismatchError, SequenceFullError
from ticket_numbering.worker.results import Assigned, Replayed
from ticket_numbering.worker.sqs_record import SQSRecord
from ticket_numbering.worker.turns import Turns, Work
from ticket_numbering.worker.worker import BatchReport

START = FakeTime().left

THROTTLED = in_project("HOT", everywhere(Reason.THROTTLED))


@dataclass
class System(WorkerOnFakes):
    """A worker over fakes."""

    max_attempts: int = 25

    def handle(
        self, *records: SQSRecord, faults: Sequence[Fault], **options: Any
    ) -> BatchReport:
        """Process a batch, with faults of the first writes."""
        self.store.faults += faults
        # A single thread, so that the order is the same every time.
        return self.report(*records, pool=lambda _: ThreadPoolExecutor(1), **options)


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
        """Numbers, then refusals; a dead-letter queue that hangs delays no message."""
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
            # A throttled block is halved.
            ([passes, THROTTLED, passes, THROTTLED], [50, 25, 35]),
        ],
        ids=["twice in a row", "again"],
    )
    def test_each_block_is_announced_once_when_its_own_project_backs_off(
        self, system: System, faults: list[Fault], announced: list[int]
    ) -> None:
        system.handle(*hot(sum(announced)), faults=faults)

        assert [len(ids) for _, ids in system.publisher.calls] == announced

    def test_repeat_waits_with_the_request_that_it_equals(self, system: System) -> None:
        """Its answer so far is none, and would send it back to the queue."""
        once = create_ticket("HOT")
        records = [*map(queue_record, (once, once, create_ticket("QUIET")))]

        report = system.handle(*records, faults=[THROTTLED] * 3)

        kinds = [type(result) for result in report.results]
        assert kinds == [Assigned, Replayed, Assigned]

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


def test_nothing_is_announced_within_the_look_for_idle_work(system: System) -> None:
    """No task runs or starts meanwhile: SNS that hangs would stop every project."""
    announced: list[int] = []

    class Turning(Turns):
        def __post_init__(self) -> None:
            super().__post_init__()
            look = self.idle_work

            def looked() -> Work | None:
                work = look()
                announced.append(len(system.publisher.calls))
                return work

            self.idle_work = looked

    records = queue_record(create_ticket("QUIET")), *hot()
    system.handle(*records, faults=[THROTTLED] * 2, turns=Turning)

    assert announced[0] == 0
    assert [ids for _, ids in system.publisher.calls] == [["QUIET-1"], ["HOT-1"]]


class TestFailure:
    """A failed event is tried again at the end."""

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
