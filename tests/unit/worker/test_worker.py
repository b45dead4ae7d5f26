"""A batch over fakes: what each record comes to, whatever happens to others."""

import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from tests.support.builders import create_ticket, create_tickets, queue_record
from tests.support.fakes import (
    BlockAnswer,
    FakeDeadLetters,
    FakePublisher,
    FakeTicketStore,
    FakeTime,
    Fault,
    key_of,
)
from ticket_numbering.allocation import Allocator
from ticket_numbering.errors import (
    AnnouncementError,
    DamagedKeyRecordError,
    DeadLetterError,
    IdempotencyMismatchError,
    InvalidMessageError,
    NotAttemptedError,
    SequenceContentionError,
    StoreUnavailableError,
    TicketTooLargeError,
)
from ticket_numbering.messages import Assignment, RequestKey
from ticket_numbering.ports import (
    Block,
    Cancelled,
    DeadLetter,
    Reason,
    Refused,
    Slot,
    TimeLeft,
)
from ticket_numbering.results import Assigned, Poison, Replayed, Result, Retry
from ticket_numbering.sqs_record import SQSRecord
from ticket_numbering.worker import (
    MAX_PROJECTS_SIDE_BY_SIDE,
    BatchReport,
    Worker,
)


@dataclass
class System:
    """A worker over fakes."""

    store: FakeTicketStore = field(default_factory=FakeTicketStore)
    publisher: FakePublisher = field(default_factory=FakePublisher)
    dead_letters: FakeDeadLetters = field(default_factory=FakeDeadLetters)
    time: FakeTime = field(default_factory=FakeTime)

    def handle(
        self,
        *records: SQSRecord,
        max_attempts: int = 3,
        pool: Callable[[int], Executor] = ThreadPoolExecutor,
    ) -> BatchReport:
        """Process a batch."""
        allocator = Allocator(self.store, max_attempts, 10.0)
        worker = Worker(
            allocator, self.publisher, self.dead_letters, self.time.sleep, pool
        )
        return worker.handle(records, self.time.time_left)


@pytest.fixture
def system() -> System:
    """Return a worker over fakes."""
    return System()


def kinds(report: BatchReport) -> list[type[Result]]:
    """Return what each record came to."""
    return [type(result) for result in report.results]


def errors(report: BatchReport) -> list[type[Exception] | None]:
    """Return each record's type of error."""
    return [
        type(result.error) if isinstance(result, Poison | Retry) else None
        for result in report.results
    ]


def keys(report: BatchReport) -> list[str | None]:
    """Return each record's ticket key."""
    return [key_of(result) for result in report.results]


class TestGaplessAndInOrder:
    """Numbers follow the order of sending, project by project."""

    def test_batch_is_numbered_in_the_order_sent_when_delivered_out_of_order(
        self, system: System
    ) -> None:
        """The time of sending decides, not the place in the batch."""
        records = [queue_record(sent_at=moment) for moment in (3000, 1000, 2000)]

        report = system.handle(*records)

        assert keys(report) == ["PROJ-3", "PROJ-1", "PROJ-2"]

    def test_batch_keeps_its_own_order_when_times_are_equal_or_missing(
        self, system: System
    ) -> None:
        """Without times, the place in the batch is all that is known."""
        records = [SQSRecord(str(n), queue_record().body) for n in range(3)]

        report = system.handle(*records)

        assert keys(report) == ["PROJ-1", "PROJ-2", "PROJ-3"]

    def test_projects_are_numbered_apart_when_they_share_a_batch(
        self, system: System
    ) -> None:
        """Each project counts from one, in one transaction each."""
        records = [queue_record(create_ticket(project)) for project in "ABABCA"]

        report = system.handle(*records)

        assert keys(report) == ["A-1", "B-1", "A-2", "B-2", "C-1", "A-3"]
        assert sorted(len(block.requests) for block in system.store.blocks) == [1, 2, 3]

    def test_projects_are_allocated_side_by_side_when_a_batch_has_several(self) -> None:
        """Three projects wait for each other at the store: one by one would hang."""
        store = _MeetingStore(parties=3)
        worker = Worker(Allocator(store, 1, 0.0), FakePublisher(), FakeDeadLetters())
        records = [queue_record(create_ticket(project)) for project in "ABC"]

        report = worker.handle(records, FakeTime().time_left)

        assert kinds(report) == [Assigned] * 3

    def test_threads_are_bounded_when_a_batch_has_many_projects(self) -> None:
        """A batch of 40 projects must not open 40 connections."""
        store = _CountingStore()
        worker = Worker(Allocator(store, 1, 0.0), FakePublisher(), FakeDeadLetters())
        records = [queue_record(create_ticket(f"P{each}")) for each in range(40)]

        report = worker.handle(records, FakeTime().time_left)

        assert kinds(report) == [Assigned] * 40
        assert len(store.threads) <= MAX_PROJECTS_SIDE_BY_SIDE


class TestOncePerKey:
    """One key has one number, however its messages arrive."""

    def test_key_gets_one_number_when_it_stands_twice_in_a_batch(
        self, system: System
    ) -> None:
        """The repeat is collapsed before the transaction, which would refuse it."""
        request = create_ticket()

        report = system.handle(queue_record(request), queue_record(request))

        assert kinds(report) == [Assigned, Replayed]
        assert keys(report) == ["PROJ-1", "PROJ-1"]
        assert len(system.store.blocks[0].requests) == 1

    def test_key_keeps_its_number_when_sent_again_in_another_message(
        self, system: System
    ) -> None:
        """A new message id, as after a redrive, changes nothing."""
        request = create_ticket()
        system.handle(queue_record(request))

        report = system.handle(queue_record(), queue_record(request))

        assert kinds(report) == [Assigned, Replayed]
        assert keys(report) == ["PROJ-2", "PROJ-1"]

    def test_equal_keys_of_two_projects_are_two_requests(self, system: System) -> None:
        """The key's scope is its project."""
        records = [queue_record(create_ticket(each, "same")) for each in "AB"]

        report = system.handle(*records)

        assert kinds(report) == [Assigned, Assigned]

    def test_record_is_looked_up_first_when_it_was_delivered_before(
        self, system: System
    ) -> None:
        """A replay costs one read for the whole batch, and no cancelled write."""
        requests = [create_ticket(project) for project in "AABB"]
        system.handle(*[queue_record(each) for each in requests])
        system.store.calls.clear()

        report = system.handle(
            *[queue_record(each, receive_count=2) for each in requests]
        )

        assert kinds(report) == [Replayed] * 4
        assert system.store.calls == ["recorded"]

    def test_record_is_numbered_when_it_was_delivered_before_in_vain(
        self, system: System
    ) -> None:
        """The lookup finds nothing, so the number is given now."""
        report = system.handle(queue_record(receive_count=3))

        assert kinds(report) == [Assigned]

    def test_replay_is_found_by_the_write_when_the_lookup_fails(
        self, system: System
    ) -> None:
        """The lookup only saves a write; the keys' conditions hold without it."""
        request = create_ticket()
        system.handle(queue_record(request))
        system.store.read_errors.append(StoreUnavailableError("throttled"))

        report = system.handle(queue_record(request, receive_count=2))

        assert kinds(report) == [Replayed]
        assert system.store.numbers() == [1]

    @pytest.mark.parametrize("receive_count", [1, 2])
    def test_request_is_poison_when_its_key_was_used_for_another_ticket(
        self, system: System, receive_count: int
    ) -> None:
        """A silent answer with the other ticket's number would be wrong."""
        system.handle(queue_record(create_ticket(idempotency_key="k")))
        other = create_ticket(idempotency_key="k", title="Another")

        report = system.handle(queue_record(other, receive_count=receive_count))

        assert errors(report) == [IdempotencyMismatchError]
        assert "PROJ-1" in system.dead_letters.reasons[0]
        assert system.dead_letters.reasons[0].startswith("idempotency_key: ")

    @pytest.mark.parametrize("version", ["v0", "v2", "v10"])
    @pytest.mark.parametrize("receive_count", [1, 2])
    def test_request_is_a_replay_when_another_version_recorded_its_key(
        self, system: System, version: str, receive_count: int
    ) -> None:
        """While a deployment shifts traffic, one worker reads the other's records."""
        request = create_ticket()
        recorded = Assignment(7, f"{version}:abc", "2026-11-21T06:00:00.000Z")
        system.store.keys[request.key] = recorded

        report = system.handle(queue_record(request, receive_count=receive_count))

        assert kinds(report) == [Replayed]
        assert system.publisher.ids == ["PROJ-7"]

    def test_first_sent_wins_when_one_batch_holds_two_tickets_of_one_key(
        self, system: System
    ) -> None:
        """The order of sending decides which of them is the mismatch."""
        late = create_ticket(idempotency_key="k", title="Late")
        early = create_ticket(idempotency_key="k", title="Early")

        report = system.handle(
            queue_record(late, sent_at=2000), queue_record(early, sent_at=1000)
        )

        assert kinds(report) == [Poison, Assigned]
        assert [each.event.data.title for each in system.publisher.announced] == [
            "Early"
        ]

    def test_recorded_ticket_wins_when_a_batch_holds_two_tickets_of_its_key(
        self, system: System
    ) -> None:
        """What is recorded decides, not which of the two was sent first."""
        mine = create_ticket(idempotency_key="k", title="Recorded")
        other = create_ticket(idempotency_key="k", title="Other")
        system.handle(queue_record(mine))

        report = system.handle(
            queue_record(other, sent_at=1000), queue_record(mine, sent_at=2000)
        )

        assert kinds(report) == [Poison, Replayed]

    def test_second_ticket_of_a_key_waits_when_the_first_is_undecided(
        self, system: System
    ) -> None:
        """Whether it is a mismatch is known only when the first has its number."""
        system.store.faults += [_conflict] * 9
        first = create_ticket(idempotency_key="k", title="First")
        second = create_ticket(idempotency_key="k", title="Second")

        report = system.handle(queue_record(first), queue_record(second))

        assert errors(report) == [SequenceContentionError] * 2

    def test_second_ticket_of_a_key_waits_when_the_first_is_poison(
        self, system: System
    ) -> None:
        """The poison of one is not the poison of the other."""
        system.store.read_errors.append(TicketTooLargeError("too large"))
        first = create_ticket(idempotency_key="k", title="First")
        second = create_ticket(idempotency_key="k", title="Second")

        report = system.handle(
            queue_record(first), queue_record(second), queue_record(first)
        )

        expected = [TicketTooLargeError, NotAttemptedError, TicketTooLargeError]
        assert errors(report) == expected


class TestAnnouncedAtLeastOnce:
    """Every number of a batch is announced, with the same event id every time."""

    def test_number_is_announced_when_assigned(self, system: System) -> None:
        """One event for each number."""
        system.handle(queue_record(), queue_record())

        assert system.publisher.ids == ["PROJ-1", "PROJ-2"]
        assert [each.replayed for each in system.publisher.announced] == [False, False]

    def test_events_are_published_in_the_order_of_the_numbers_when_digits_are_added(
        self, system: System
    ) -> None:
        """As text, 10 would come before 9."""
        system.handle(*[queue_record() for _ in range(8)])
        system.publisher.announced.clear()

        system.handle(*[queue_record() for _ in range(3)])

        assert system.publisher.ids == ["PROJ-9", "PROJ-10", "PROJ-11"]

    @pytest.mark.parametrize("receive_count", [1, 2, 3, 10])
    def test_same_event_is_announced_again_when_replayed(
        self, system: System, receive_count: int
    ) -> None:
        """The first run may have died between its commit and its announcement."""
        request = create_ticket()
        system.handle(queue_record(request))

        system.handle(queue_record(request, receive_count=receive_count))

        first, again = system.publisher.announced
        assert again.event.model_dump_json() == first.event.model_dump_json()
        assert (first.replayed, again.replayed) == (False, True)

    def test_number_is_announced_once_when_its_key_stands_twice_in_a_batch(
        self, system: System
    ) -> None:
        """One announcement serves both records, and is not marked as a replay."""
        request = create_ticket()

        system.handle(
            queue_record(request, sent_at=2000), queue_record(request, sent_at=1000)
        )

        assert [each.replayed for each in system.publisher.announced] == [False]

    @pytest.mark.parametrize("moments", [(1000, 2000), (2000, 1000)])
    def test_first_announcement_is_no_replay_when_its_key_stands_twice_in_a_batch(
        self, system: System, moments: tuple[int, int]
    ) -> None:
        """Whichever record comes first: subscribers may filter replays out."""
        request = create_ticket()

        report = system.handle(
            *[queue_record(request, sent_at=each) for each in moments]
        )

        assert sorted(kinds(report), key=str) == [Assigned, Replayed]
        assert [each.replayed for each in system.publisher.announced] == [False]

    def test_committed_numbers_are_announced_when_a_later_block_meets_a_bug(
        self, system: System
    ) -> None:
        """What was learned before an unforeseen error is not thrown away."""
        records = [queue_record() for _ in range(60)]
        system.store.faults += [lambda _: None, _bug_in("PROJ")]

        report = system.handle(*records)

        assert kinds(report) == [Assigned] * 50 + [Retry] * 10
        assert len(system.publisher.ids) == 50

    def test_records_come_back_when_their_announcement_fails(
        self, system: System
    ) -> None:
        """The ticket exists, but its message stays until the world has heard."""
        system.publisher.refused = {"PROJ-2"}
        request = create_ticket()

        report = system.handle(
            queue_record(), queue_record(request), queue_record(), queue_record(request)
        )

        assert errors(report) == [None, AnnouncementError, None, AnnouncementError]
        assert report.announcements_failed == 1

    def test_number_stays_and_is_announced_when_its_record_comes_back(
        self, system: System
    ) -> None:
        """The second delivery announces the number that the first one committed."""
        system.publisher.refused = {"PROJ-1"}
        request = create_ticket()
        system.handle(queue_record(request))
        system.publisher.refused = set()

        report = system.handle(queue_record(request, receive_count=2))

        assert kinds(report) == [Replayed]
        assert system.publisher.ids == ["PROJ-1"]
        assert system.store.numbers() == [1]

    def test_nothing_is_published_when_nothing_was_numbered(
        self, system: System
    ) -> None:
        """Poison alone makes no call to SNS."""
        system.handle(queue_record("{"))

        assert system.publisher.calls == 0


class TestNothingLost:
    """A record counts as done only when announced or dead-lettered."""

    def test_poison_is_dead_lettered_with_its_body_when_invalid(
        self, system: System
    ) -> None:
        """The body is untouched and the reason beside it."""
        body = '{"project_id": "PROJ",  "title": "\\u00e9"} '

        report = system.handle(queue_record(body))

        assert errors(report) == [InvalidMessageError]
        assert system.dead_letters.bodies == [body]
        assert "idempotency_key" in system.dead_letters.reasons[0]

    def test_poison_comes_back_when_its_dead_letter_fails(self, system: System) -> None:
        """It is not deleted before it lies in the dead-letter queue."""
        bad, worse = queue_record("{"), queue_record("[]")
        system.dead_letters.refused = {worse.message_id}

        report = system.handle(bad, worse)

        assert kinds(report) == [Poison, Retry]
        assert errors(report) == [InvalidMessageError, DeadLetterError]

    def test_record_comes_back_when_the_store_fails(self, system: System) -> None:
        """What was not committed is not deleted."""
        system.store.read_errors += [StoreUnavailableError("down")] * 9

        report = system.handle(queue_record())

        assert errors(report) == [StoreUnavailableError]
        assert system.dead_letters.letters == []

    def test_record_comes_back_when_the_store_refuses_a_ticket_that_fits(
        self, system: System
    ) -> None:
        """A table of another key refuses all there is; none of it is poison."""
        system.store.faults += [lambda _: Refused("ValidationException")] * 9

        report = system.handle(queue_record(), queue_record())

        assert errors(report) == [StoreUnavailableError] * 2
        assert system.dead_letters.letters == []

    @pytest.mark.parametrize("port", ["publisher", "dead_letters"])
    def test_records_come_back_when_a_port_has_a_bug(
        self, system: System, port: str
    ) -> None:
        """An unexpected error is that record's failure, not the batch's."""
        bug = KeyError("unforeseen")
        getattr(system, port).bug = bug

        report = system.handle(queue_record(), queue_record("{"))

        failed = report.results[0 if port == "publisher" else 1]
        assert isinstance(failed, Retry)
        assert failed.error is bug
        assert kinds(report).count(Retry) == 1


class TestOneBadMessageHarmsOnlyItself:
    """Neighbours of whatever fails get their numbers."""

    def test_neighbours_are_numbered_when_messages_are_poison(
        self, system: System
    ) -> None:
        """Poison takes no number and no time of others."""
        good = [queue_record() for _ in range(3)]

        report = system.handle(
            good[0], queue_record("nonsense"), good[1], queue_record("[1]"), good[2]
        )

        assert kinds(report) == [Assigned, Poison, Assigned, Poison, Assigned]
        assert system.store.numbers() == [1, 2, 3]

    def test_neighbours_are_numbered_when_the_dead_letter_queue_hangs(
        self, system: System
    ) -> None:
        """Poison uses up nobody's time but its own."""
        system.dead_letters = _HangingDeadLetters(time=system.time)

        report = system.handle(queue_record("{"), queue_record())

        assert kinds(report) == [Retry, Assigned]
        assert system.publisher.ids == ["PROJ-1"]

    def test_new_requests_are_numbered_when_the_lookup_of_others_takes_long(
        self, system: System
    ) -> None:
        """What was not looked up in its share of the time is answered by its key."""
        system.store = store = _SlowLookups(system.time)
        requests = create_tickets(900)
        for block in range(0, 900, 50):
            system.handle(*map(queue_record, requests[block : block + 50]))
        repeats = [queue_record(request, receive_count=2) for request in requests]
        store.seconds_a_call = 2.9

        report = system.handle(*repeats, queue_record())

        assert kinds(report) == [Replayed] * 900 + [Assigned]

    def test_project_is_numbered_when_more_are_contended_than_there_are_threads(
        self, system: System
    ) -> None:
        """Who waits for a crowd to pass gives its thread to who need not wait."""
        projects = [f"P{number}" for number in range(MAX_PROJECTS_SIDE_BY_SIDE)]
        system.store.faults += [_throttled_in(projects, system.time)] * 999
        records = [queue_record(create_ticket(name)) for name in [*projects, "CALM"]]

        # A single thread, so that the outcome is the same every time.
        report = system.handle(
            *records, max_attempts=25, pool=lambda _: ThreadPoolExecutor(1)
        )

        assert kinds(report) == [Retry] * len(projects) + [Assigned]

    def test_other_projects_are_numbered_when_one_is_contended(
        self, system: System
    ) -> None:
        """Contention is a project's own."""
        system.store.faults += [_conflict_in("A")] * 99

        report = system.handle(
            *[queue_record(create_ticket(project)) for project in "ABAB"]
        )

        assert kinds(report) == [Retry, Assigned, Retry, Assigned]

    def test_other_projects_are_numbered_when_one_meets_a_bug(
        self, system: System
    ) -> None:
        """Even an unexpected error stays within its project."""
        system.store.faults += [_bug_in("A")] * 9

        report = system.handle(
            *[queue_record(create_ticket(project)) for project in "AB"]
        )

        assert errors(report) == [ZeroDivisionError, None]
        assert kinds(report) == [Retry, Assigned]

    @pytest.mark.parametrize("receive_count", [1, 2])
    def test_neighbours_are_numbered_when_a_key_record_is_damaged(
        self, system: System, receive_count: int
    ) -> None:
        """Found by the lookup or by the write, it harms its own request."""
        request = create_ticket()
        system.store.damaged.add(request.key)

        report = system.handle(
            queue_record(),
            queue_record(request, receive_count=receive_count),
            queue_record(),
        )

        assert errors(report) == [None, DamagedKeyRecordError, None]
        assert system.store.numbers() == [1, 2]
        assert system.publisher.ids == ["PROJ-1", "PROJ-2"]

    def test_neighbours_are_numbered_when_a_recorded_number_cannot_be_announced(
        self, system: System
    ) -> None:
        """There is no ticket 0, and a batch must not fail for it."""
        request = create_ticket()
        system.store.keys[request.key] = Assignment(0, request.fingerprint, "then")

        report = system.handle(queue_record(request), queue_record())

        assert errors(report) == [DamagedKeyRecordError, None]
        assert system.publisher.ids == ["PROJ-1"]

    def test_record_without_body_is_poison(self, system: System) -> None:
        """An event made by hand may lack anything."""
        report = system.handle(SQSRecord("1", None), queue_record())

        assert errors(report) == [InvalidMessageError, None]


class TestFifoOrder:
    """On a FIFO queue, nothing of a group is deleted past a failure."""

    def test_later_records_of_the_group_are_reported_when_one_fails(
        self, system: System
    ) -> None:
        """Other groups, and what came before, stay done."""
        system.publisher.refused = {"A-2"}
        records = [
            queue_record(create_ticket(group), group_id=group, sequence_number=str(n))
            for n, group in enumerate("AABA")
        ]

        report = system.handle(*records)

        assert errors(report) == [None, AnnouncementError, None, NotAttemptedError]

    def test_all_later_records_of_the_group_are_reported_when_the_first_fails(
        self, system: System
    ) -> None:
        """New or numbered before: what passes a failure is out of order."""
        fifo = {"group_id": "PROJ", "sequence_number": "1"}
        known = create_ticket()
        system.handle(queue_record(known, **fifo))
        system.publisher.refused = {"PROJ-2"}

        report = system.handle(
            queue_record(**fifo),
            queue_record(known, **fifo),
            queue_record(**fifo),
            queue_record(known, **fifo),
        )

        assert errors(report) == [AnnouncementError, *[NotAttemptedError] * 3]

    def test_later_poison_is_held_back_with_its_group_when_a_record_fails(
        self, system: System
    ) -> None:
        """Sent and returned, it would be sent again at each delivery."""
        system.publisher.refused = {"PROJ-1"}
        fifo = {"group_id": "PROJ", "sequence_number": "1"}

        report = system.handle(queue_record(**fifo), queue_record("{", **fifo))

        assert errors(report) == [AnnouncementError, NotAttemptedError]
        assert system.dead_letters.letters == []

    def test_later_records_are_done_when_the_dead_letter_of_the_group_fails(
        self, system: System
    ) -> None:
        """Poison never gets a number, so nobody gets one before its turn."""
        fifo = {"group_id": "PROJ", "sequence_number": "1"}
        bad = queue_record("{", **fifo)
        system.dead_letters.refused = {bad.message_id}

        report = system.handle(bad, queue_record(**fifo))

        assert errors(report) == [DeadLetterError, None]

    def test_later_records_are_done_when_poison_of_the_group_was_dead_lettered(
        self, system: System
    ) -> None:
        """Poison that found its place blocks nobody."""
        fifo = {"group_id": "PROJ", "sequence_number": "1"}

        report = system.handle(queue_record("{", **fifo), queue_record(**fifo))

        assert kinds(report) == [Poison, Assigned]

    def test_records_are_numbered_as_they_arrived_when_their_times_differ(
        self, system: System
    ) -> None:
        """The queue's order counts, not the clocks that stamped the messages."""
        requests = create_tickets(3)
        records = [
            queue_record(request, group_id="PROJ", sequence_number="9", sent_at=time)
            for request, time in zip(requests, (3, 1, 2), strict=True)
        ]

        report = system.handle(*records)

        assert keys(report) == ["PROJ-1", "PROJ-2", "PROJ-3"]

    def test_later_records_are_done_when_the_queue_is_a_fair_standard_queue(
        self, system: System
    ) -> None:
        """A group on a standard queue promises no order."""
        system.publisher.refused = {"PROJ-1"}
        records = [queue_record(group_id="PROJ") for _ in range(2)]

        report = system.handle(*records)

        assert kinds(report) == [Retry, Assigned]


class TestDeadline:
    """No attempt starts that the invocation may not live to finish."""

    def test_records_go_back_untouched_when_time_has_run_out(
        self, system: System
    ) -> None:
        """Nothing was tried, so nothing is in doubt."""
        system.time.left = 5.0

        report = system.handle(queue_record(), queue_record())

        assert errors(report) == [NotAttemptedError] * 2
        assert system.store.calls == []


class _MeetingStore(FakeTicketStore):
    """Lets a write pass only when so many writes are under way together."""

    def __init__(self, parties: int) -> None:
        super().__init__()
        self._meeting = threading.Barrier(parties, timeout=5)

    def write_block(self, block: Block) -> BlockAnswer:
        self._meeting.wait()
        return super().write_block(block)


class _SlowLookups(FakeTicketStore):
    """Reads a hundred keys at a time, as DynamoDB does, and takes its time."""

    def __init__(self, time: FakeTime) -> None:
        super().__init__()
        self.seconds_a_call = 0.0
        self._time = time

    def recorded(
        self, keys: Collection[RequestKey]
    ) -> dict[RequestKey, Assignment | DamagedKeyRecordError]:
        for _ in range(0, len(keys), 100):
            self._time.sleep(self.seconds_a_call)
        return super().recorded(keys)


@dataclass
class _HangingDeadLetters(FakeDeadLetters):
    """Takes nothing, and most of an invocation's time to say so."""

    time: FakeTime = field(default_factory=FakeTime)

    def send(
        self, letters: Sequence[DeadLetter], time_left: TimeLeft
    ) -> dict[str, DeadLetterError]:
        del time_left
        self.time.sleep(24.0)
        return {each.record.message_id: DeadLetterError("hung") for each in letters}


class _CountingStore(FakeTicketStore):
    """Notes which threads write."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def write_block(self, block: Block) -> BlockAnswer:
        self.threads.add(threading.get_ident())
        return super().write_block(block)


def _conflict(block: Block) -> Cancelled:
    return Cancelled([Slot(Reason.CONFLICT)] * len(block.requests))


def _conflict_in(project_id: str) -> Fault:
    def fault(block: Block) -> Cancelled | None:
        return _conflict(block) if block.project_id == project_id else None

    return fault


def _throttled_in(projects: Sequence[str], time: FakeTime) -> Fault:
    def fault(block: Block) -> Cancelled | None:
        time.sleep(0.1)
        throttled = Cancelled([Slot(Reason.THROTTLED)] * len(block.requests))
        return throttled if block.project_id in projects else None

    return fault


def _bug_in(project_id: str) -> Fault:
    def fault(block: Block) -> None:
        if block.project_id == project_id:
            raise ZeroDivisionError

    return fault
