"""A batch over fakes: the outcome of each record, among failing others."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from threading import Barrier, get_ident
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.builders import (
    SOURCE,
    block_of,
    create_ticket,
    create_tickets,
    fifo_record,
    queue_record,
    ticket_fields,
)
from tests.support.fakes import FakeService
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.store import MAX_KEYS_PER_READ, BlockInvalid
from ticket_numbering.contract.errors import (
    AnnouncementError,
    DamagedKeyRecordError,
    DeadLetterError,
    IdempotencyMismatchError,
    InvalidMessageError,
    NotAttemptedError,
    StoreRefusedError,
    StoreUnavailableError,
)
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.events import Events
from ticket_numbering.worker.results import Assigned, Numbered, Replayed, Result
from ticket_numbering.worker.sqs_record import SQSRecord
from ticket_numbering.worker.worker import (
    LOOKUP_SHARE,
    MAX_PROJECTS_SIDE_BY_SIDE,
    BatchReport,
)

Outcome = str | type[Exception]


@dataclass
class System(WorkerOnFakes):
    """A worker over fakes."""

    reasons: list[str] = field(default_factory=list)
    """Of the last batch; an empty text is success."""

    def report(self, *records: SQSRecord, **options: Any) -> BatchReport:
        """Process a batch."""
        report = super().report(*records, **options)
        self.reasons = [
            "" if isinstance(result, Numbered) else str(result.error)
            for result in report.results
        ]
        for record, result in zip(records, report.results, strict=True):
            assert result.record is record
            assert result.request == _request(record)
        return report

    def handle(self, *records: SQSRecord) -> list[Outcome]:
        """Return the outcome of each record."""
        return outcomes(self.report(*records))


@pytest.fixture
def system() -> System:
    """Return a worker over fakes."""
    return System()


def outcomes(report: BatchReport) -> list[Outcome]:
    """Return the ticket key or the type of error of each record."""
    return [_outcome(result) for result in report.results]


def _outcome(result: Result) -> Outcome:
    match result:
        case Assigned():
            return result.event.id
        case Replayed():
            return f"{result.event.id} again"
        case _:
            return type(result.error)


def _request(record: SQSRecord) -> CreateTicket | None:
    try:
        return record.parse()
    except InvalidMessageError:
        return None


class TestGaplessAndInOrder:
    """Numbers follow the order of sending, project by project."""

    def test_batch_is_numbered_in_the_order_sent_when_delivered_out_of_order(
        self, system: System
    ) -> None:
        records = [queue_record(sent_at=moment) for moment in (3000, 1000, 2000)]

        assert system.handle(*records) == ["PROJ-3", "PROJ-1", "PROJ-2"]

    @pytest.mark.parametrize(
        ("projects", "threads"), [(2, 2), (40, MAX_PROJECTS_SIDE_BY_SIDE)]
    )
    def test_projects_are_allocated_side_by_side_on_a_bounded_number_of_threads(
        self, system: System, projects: int, threads: int
    ) -> None:
        """They wait for each other at the store: one by one would hang."""
        meeting, seen = Barrier(threads, timeout=60), set[int]()

        def meet(_: Block) -> None:
            seen.add(get_ident())
            meeting.wait()

        system.store.faults = [meet] * projects
        names = [f"P{number}" for number in range(projects)]

        answers = system.handle(*[queue_record(create_ticket(name)) for name in names])

        assert answers == [f"{name}-1" for name in names]
        assert len(seen) == threads
        assert len(system.publisher.calls) == 1

    @pytest.mark.parametrize("started", [0, 2])
    def test_projects_are_allocated_when_the_machine_starts_no_more_threads(
        self, system: System, started: int
    ) -> None:
        class Pool(ThreadPoolExecutor):
            def submit(self, *call: Any, **options: Any) -> Any:
                if len(submitted) == started:
                    raise RuntimeError("can't start new thread")
                submitted.append(call)
                return super().submit(*call, **options)

        submitted: list[Any] = []
        records = [queue_record(create_ticket(f"P-{place}")) for place in range(5)]

        report = system.report(*records, pool=Pool)

        assert [type(result) for result in report.results] == [Assigned] * 5

    def test_batch_of_one_project_starts_no_thread(self, system: System) -> None:
        report = system.report(queue_record(), pool=lambda _: pytest.fail("a pool"))

        assert outcomes(report) == ["PROJ-1"]
        assert system.store.calls == ["head", "write_block"]

    def test_cached_number_is_looked_at_when_its_project_gets_its_first_turn(
        self, system: System
    ) -> None:
        """It ages while the project waits for a thread."""
        worker = system.worker(pool=lambda _: ThreadPoolExecutor(1))
        cache = worker.allocator.cache
        cache.committed("B", Head(), datetime.now(UTC))
        system.store.faults = [lambda _: cache.entries.clear()]

        records = [queue_record(create_ticket(project)) for project in "AB"]
        worker.handle(records, system.time.time_left)

        assert system.store.calls == ["head", "write_block"] * 2


class TestOncePerKey:
    """One key has one number, however its messages arrive."""

    @pytest.mark.parametrize(
        ("moments", "expected"),
        [
            ((1000, 2000), ["PROJ-1", "PROJ-1 again"]),
            ((2000, 1000), ["PROJ-1 again", "PROJ-1"]),
        ],
    )
    def test_key_gets_and_announces_one_number_when_it_stands_twice_in_a_batch(
        self, system: System, moments: tuple[int, int], expected: list[str]
    ) -> None:
        """The announcement is no replay: subscribers may filter replays out."""
        request = create_ticket()

        # Parsed twice, the records hold equal requests; the outcome goes to the first.
        answers = system.handle(*[queue_record(request, sent_at=at) for at in moments])

        assert answers == expected
        assert len(system.store.blocks[0].requests) == 1
        assert system.publisher.replayed == [False]

    def test_records_delivered_before_are_looked_up_first(self, system: System) -> None:
        """A replay costs one read for the whole batch, and no cancelled write."""
        requests = [create_ticket(project) for project in "AABB"]
        system.handle(*map(queue_record, requests))
        system.store.calls.clear()

        answers = system.handle(
            *[queue_record(request, receive_count=2) for request in requests]
        )

        assert answers == ["A-1 again", "A-2 again", "B-1 again", "B-2 again"]
        assert system.store.calls == ["read_keys"]

    @pytest.mark.parametrize(
        ("error", "has_trace"),
        [(StoreUnavailableError("throttled"), False), (ValueError("a bug"), True)],
    )
    def test_replay_is_found_by_the_write_when_the_lookup_fails(
        self,
        system: System,
        caplog: pytest.LogCaptureFixture,
        error: Exception,
        *,
        has_trace: bool,
    ) -> None:
        """The lookup only saves a write; the keys' conditions hold without it."""
        requests = create_tickets(MAX_KEYS_PER_READ + 1)
        first = system.handle(*map(queue_record, requests))
        system.store.read_errors.append(error)

        again = [queue_record(request, receive_count=2) for request in requests]

        assert system.handle(*again) == [f"{key} again" for key in first]
        # Each further call could take as long as the first.
        assert system.store.calls.count("read_keys") == 1
        [line] = caplog.records
        assert line.message == "lookup of redelivered requests failed"
        assert vars(line)["error_type"] == type(error).__name__
        assert vars(line)["error"] == str(error)
        assert bool(line.exc_info) is has_trace

    @pytest.mark.parametrize("receive_count", [1, 2])
    def test_request_is_poison_when_its_key_was_used_for_another_ticket(
        self, system: System, receive_count: int
    ) -> None:
        """A silent answer with the other ticket's number would be wrong."""
        system.handle(queue_record(create_ticket(idempotency_key="k")))
        other = create_ticket(idempotency_key="k", title="Another")

        answers = system.handle(queue_record(other, receive_count=receive_count))

        assert answers == [IdempotencyMismatchError]
        assert system.dead_letters.reasons == [
            "idempotency_key: already used for PROJ-1, a different ticket"
        ]
        assert system.dead_letters.sent[0].error.field == "idempotency_key"

    def test_highest_cap_counts_when_a_batch_holds_a_request_with_several(
        self, system: System
    ) -> None:
        """Else later messages on a FIFO queue would overtake the higher one."""
        system.store.fill(1)
        lower = create_ticket(idempotency_key="k", max_number=1)
        higher = create_ticket(idempotency_key="k")

        answers = system.handle(*map(queue_record, (lower, higher, None)))

        assert answers == ["PROJ-2 again", "PROJ-2", "PROJ-3"]


class TestAnnouncedAtLeastOnce:
    """Every number of a batch is announced, with the same event id every time."""

    @pytest.mark.parametrize("receive_count", [1, 2])
    def test_same_event_is_announced_again_when_replayed(
        self, system: System, receive_count: int
    ) -> None:
        """The first run may have died between its commit and its announcement."""
        request = create_ticket()
        system.handle(queue_record(request))

        system.handle(queue_record(request, receive_count=receive_count))

        first, again = system.publisher.announced
        assert again.event.model_dump_json() == first.event.model_dump_json()
        assert system.publisher.replayed == [False, True]

    def test_announcement_continues_the_trace_and_pads_the_number_when_asked_for(
        self, system: System
    ) -> None:
        trace = {
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "tracestate": "rojo=1",
        }
        attributes = {name: {"stringValue": text} for name, text in trace.items()}

        urgent = create_ticket(priority="urgent")
        record = queue_record(urgent, messageAttributes=attributes)
        system.events = Events(SOURCE, padding=6)
        system.report(record)

        [announced] = system.publisher.announced
        event = announced.event.model_dump(mode="json")
        assert {name: event[name] for name in trace} == trace
        assert event["data"]["display"] == "PROJ-000001"
        # OpenTelemetry reads the message attributes.
        sent = announced.entry(fifo=False)["MessageAttributes"]
        assert {name: sent[name]["StringValue"] for name in trace} == trace
        assert sent["priority"]["StringValue"] == "urgent"
        # With raw delivery to SQS, SNS discards an announcement that has more.
        assert len(sent) <= 10

    def test_committed_numbers_are_announced_when_a_later_block_meets_a_bug(
        self, system: System
    ) -> None:
        """Those of other projects, too."""

        def meet_bug(block: Block) -> None:
            if block.first_number > 1:
                raise ZeroDivisionError

        system.store.faults += [meet_bug] * 9
        others = queue_record(create_ticket("OTHER"))

        answers = system.handle(*[queue_record() for _ in range(60)], others)

        assert answers[49:] == ["PROJ-50", *[ZeroDivisionError] * 10, "OTHER-1"]
        assert len(system.publisher.ids) == 51
        assert len(system.store.blocks) == 3

    def test_records_come_back_with_their_key_when_their_announcement_fails(
        self, system: System
    ) -> None:
        system.publisher.refused = {"PROJ-2"}
        request = create_ticket()
        records = map(queue_record, (None, request, None, request))

        report = system.report(*records)

        assert outcomes(report) == [
            "PROJ-1",
            AnnouncementError,
            "PROJ-3",
            AnnouncementError,
        ]
        assert report.announcements_failed == 1
        # The log names it, whether its number is new or was given before.
        keys = [getattr(result, "ticket_key", None) for result in report.results]
        assert keys == [None, "PROJ-2", None, "PROJ-2"]
        assert system.handle(queue_record(request, receive_count=2)) == [
            AnnouncementError
        ]
        assert system.store.numbers() == [1, 2, 3]


class TestNothingLost:
    """A record counts as done only when announced or dead-lettered."""

    def test_poison_is_dead_lettered_or_comes_back(self, system: System) -> None:
        body = '{"project_id": "PROJ",  "title": "\\u00e9"} '
        records = queue_record(body), queue_record("[]")
        system.dead_letters.refused = {records[1].message_id}

        assert system.handle(*records) == [InvalidMessageError, DeadLetterError]
        assert system.publisher.calls == []
        assert len(system.dead_letters.calls) == 1
        assert system.dead_letters.sent[0].record.body == body
        assert "idempotency_key" in system.dead_letters.reasons[0]

    @pytest.mark.parametrize(
        ("port", "expected"),
        [
            ("publisher", [KeyError, InvalidMessageError]),
            ("dead_letters", ["PROJ-1", KeyError]),
        ],
    )
    def test_records_come_back_when_a_port_has_a_bug(
        self, system: System, port: str, expected: list[Outcome]
    ) -> None:
        getattr(system, port).bug = KeyError("unforeseen")

        assert system.handle(queue_record(), queue_record("{")) == expected


class TestOneBadMessageHarmsOnlyItself:
    """Neighbours of a failure get their numbers."""

    def test_new_requests_are_numbered_when_the_lookup_of_others_takes_long(
        self, system: System
    ) -> None:
        """A request without a lookup in its time is answered by its key."""
        store, seconds_a_call = system.store, 4.0
        requests = create_tickets(900)
        for start in range(0, 900, 50):
            store.put(block_of(requests[start : start + 50], start + 1))
        repeats = [queue_record(request, receive_count=2) for request in requests]
        store.on_read = lambda: system.time.sleep(seconds_a_call)
        system.time.left = 48.0

        *replayed, new = system.handle(*repeats, queue_record())

        lookups = store.calls.count("read_keys")
        # The last one begins at the end of the share.
        assert lookups == 1 + int(48.0 * LOOKUP_SHARE / seconds_a_call)
        looked_up = lookups * MAX_KEYS_PER_READ
        assert store.blocks[0].requests == requests[looked_up : looked_up + 50]
        assert replayed == [f"PROJ-{number} again" for number in range(1, 901)]
        assert new == "PROJ-901"

    def test_bug_is_one_when_no_event_can_hold_a_new_number(
        self, system: System
    ) -> None:
        """Its trace tells a developer; the record of the key is sound."""
        system.events = Events("no source")

        assert system.handle(queue_record()) == [ValidationError]
        assert "no source" not in system.reasons[0]

    @pytest.mark.parametrize("receive_count", [1, 2])
    def test_neighbours_are_numbered_when_a_key_record_is_damaged(
        self, system: System, receive_count: int
    ) -> None:
        """Found by the lookup or by the write, it harms its own request."""
        request = create_ticket()
        system.store.damaged.add(request.key)
        damaged = queue_record(request, receive_count=receive_count)

        answers = system.handle(queue_record(), damaged, queue_record())

        assert answers == ["PROJ-1", DamagedKeyRecordError, "PROJ-2"]
        assert system.reasons[1] == "damaged"
        assert system.dead_letters.sent == []
        assert system.publisher.ids == ["PROJ-1", "PROJ-2"]


class TestFifoOrder:
    """On a FIFO queue, nothing of a group is deleted past a failure."""

    def test_all_later_records_of_the_group_are_held_back_when_one_fails(
        self, system: System
    ) -> None:
        """New, numbered before or poison: none may pass a failure.

        Else a subscriber would get the later number first.
        """
        known, again = create_ticket(), create_ticket("B")
        system.handle(fifo_record(known), fifo_record(again, "B"))
        system.publisher.refused = {"PROJ-3", "B-1"}

        answers = system.handle(
            *(fifo_record(), fifo_record()),
            *(fifo_record(known), fifo_record(), fifo_record("{")),
            *(fifo_record(again, "B"), fifo_record(create_ticket("B"), "B")),
            fifo_record(create_ticket("C"), "C"),
        )

        assert answers[:2] == ["PROJ-2", AnnouncementError]
        assert answers[2:5] == [NotAttemptedError] * 3
        assert answers[5:] == [AnnouncementError, NotAttemptedError, "C-1"]
        assert set(system.reasons[2:5]) == {"an earlier message of the group failed"}
        assert system.dead_letters.sent == []

    @pytest.mark.parametrize(
        ("record", "numbers"),
        [
            (fifo_record, []),
            (queue_record, [1]),
            (partial(queue_record, group_id="PROJ"), [1]),  # Of a fair queue.
        ],
    )
    def test_later_request_is_numbered_past_a_refused_one_only_without_an_order(
        self, system: System, record: Callable[[], SQSRecord], numbers: list[int]
    ) -> None:
        """Else it would have a lower number than the refused one in the end."""
        # The block of both, then that of the first.
        system.store.faults = [lambda _: BlockInvalid("ValidationException")] * 2

        refused, later = system.handle(record(), record())

        assert refused == StoreRefusedError
        assert (later == "PROJ-1") is bool(numbers)
        assert system.store.numbers() == numbers

    @pytest.mark.parametrize(
        ("refusing", "error"),
        [
            ("nothing", InvalidMessageError),
            ("publisher", AnnouncementError),
            ("dead_letters", DeadLetterError),
        ],
    )
    def test_later_records_are_done_when_an_earlier_one_of_the_group_is_poison(
        self, system: System, refusing: str, error: type[Exception]
    ) -> None:
        """Poison never gets a number, so no record overtakes it."""
        bad = fifo_record(ticket_fields(title=""))
        event_id = f"refused/{bad.message_id}/InvalidMessageError/title"
        getattr(system, refusing, FakeService()).refused = {bad.message_id, event_id}

        assert system.handle(bad, fifo_record()) == [error, "PROJ-1"]
