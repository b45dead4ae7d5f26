"""The algorithm over a fake store whose every answer a test can choose."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from tests.support.builders import create_ticket, create_tickets
from tests.support.cases import cases
from tests.support.fakes import FakeTicketStore, FakeTime, Fault
from ticket_numbering.allocation import MAX_DELAY_SHARE, Allocation, Allocator
from ticket_numbering.backoff import (
    BASE_DELAY_SECONDS,
    CONTENTION_MULTIPLIER,
    FAILURE_MULTIPLIER,
    MAX_DELAY_SECONDS,
    MIN_THROTTLING_DELAY_SECONDS,
    SUCCESS_DECAY,
    THROTTLING_MULTIPLIER,
    Backoff,
)
from ticket_numbering.errors import (
    NotAttemptedError,
    SequenceContentionError,
    StoreThrottledError,
    StoreUnavailableError,
    TicketTooLargeError,
)
from ticket_numbering.messages import Assignment, CreateTicket
from ticket_numbering.ports import (
    MAX_BLOCK_BYTES,
    MAX_BLOCK_REQUESTS,
    MAX_ITEM_BYTES,
    REQUEST_OVERHEAD_BYTES,
    Block,
    Cancelled,
    Reason,
    Refused,
    Slot,
)
from ticket_numbering.sequence_cache import TTL, SequenceCache

TAKEN = Slot(ticket=Reason.CONDITION_FAILED)
FREE = Slot()
UNKNOWN_OUTCOME = StoreUnavailableError("no answer")
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
AT_ONCE = TTL / 2
TOO_LATE = TTL + timedelta(milliseconds=1)


def the_longest(_: float, ceiling: float) -> float:
    """Draw the longest wait that the jitter allows."""
    return ceiling


@dataclass
class Environment:
    """Works on one batch after the other, and remembers."""

    store: FakeTicketStore = field(default_factory=FakeTicketStore)
    time: FakeTime = field(default_factory=FakeTime)
    reserve: float = 10.0
    max_attempts: int = 25
    jitter: Callable[[float, float], float] = the_longest
    cache: SequenceCache = field(default_factory=SequenceCache)
    backoff: Backoff = field(default_factory=Backoff)
    clock: datetime = NOON

    def allocate(
        self,
        requests: list[CreateTicket],
        after: timedelta = AT_ONCE,
        project_id: str = "PROJ",
    ) -> Allocation:
        """Run the algorithm so long after the batch before."""
        self.clock += after
        allocator = Allocator(
            self.store,
            max_attempts=self.max_attempts,
            deadline_reserve=self.reserve,
            cache=self.cache,
            backoff=self.backoff,
            jitter=self.jitter,
            now=lambda: self.clock,
        )
        allocation = allocator.start(project_id, requests)
        while (delay := allocator.advance(allocation, self.time.time_left)) is not None:
            self.time.sleep(delay)
        return allocation

    @property
    def reads(self) -> int:
        """How often it read the last number."""
        return self.store.calls.count("last_number")

    @property
    def firsts(self) -> list[int]:
        """The first number of each block that it tried."""
        return [block.first_number for block in self.store.blocks]


def allocate(
    store: FakeTicketStore,
    requests: list[CreateTicket],
    time: FakeTime | None = None,
    max_attempts: int = 25,
) -> Allocation:
    """Run the algorithm in a new environment."""
    environment = Environment(store, time or FakeTime(), max_attempts=max_attempts)
    return environment.allocate(requests)


def numbers(allocation: Allocation) -> list[int]:
    """Return the numbers given, in the order of the requests."""
    return [
        answer.number
        for answer in allocation.answers().values()
        if isinstance(answer, Assignment)
    ]


def cancelled(*slots: Slot) -> Fault:
    """Cancel one write for these reasons."""
    return lambda _: Cancelled(slots)


def everywhere(ticket: Reason = Reason.NONE, key: Reason = Reason.NONE) -> Fault:
    """Cancel one write for the same reason at each request."""
    return lambda block: Cancelled([Slot(ticket, key)] * len(block.requests))


def unanswered(block: Block) -> None:
    """Fail before the write takes effect."""
    del block
    raise UNKNOWN_OUTCOME


def answer_lost(store: FakeTicketStore) -> Fault:
    """Commit the write, then lose the answer."""

    def fault(block: Block) -> None:
        store.put(block)
        raise UNKNOWN_OUTCOME

    return fault


def overtaken(store: FakeTicketStore, by: int) -> Fault:
    """Let another worker commit so many tickets just before the write."""

    def fault(block: Block) -> None:
        first = max(store.tickets[block.project_id], default=0) + 1
        store.put(Block(block.project_id, first, "then", create_tickets(by)))

    return fault


def others_commit(store: FakeTicketStore, count: int) -> None:
    """Let another environment commit so many tickets."""
    first = max(store.tickets["PROJ"], default=0) + 1
    store.put(Block("PROJ", first, "then", create_tickets(count)))


def seeded(count: int) -> FakeTicketStore:
    """Return a store whose project has numbers 1..count."""
    store = FakeTicketStore()
    store.put(Block("PROJ", 1, "then", create_tickets(count)))
    return store


class TestGapless:
    """A project's numbers are exactly 1..n, in the order asked."""

    def test_allocate_starts_at_one_when_project_is_new(self) -> None:
        """The first three requests get 1, 2 and 3, in their order."""
        store, requests = FakeTicketStore(), create_tickets(3)

        allocation = allocate(store, requests)

        assert numbers(allocation) == [1, 2, 3]
        assert store.keys_in_order() == [each.idempotency_key for each in requests]

    def test_allocate_continues_after_last_number_when_project_has_tickets(
        self,
    ) -> None:
        """The next number follows the highest one."""
        store = seeded(41)

        allocation = allocate(store, create_tickets(2))

        assert numbers(allocation) == [42, 43]

    @pytest.mark.parametrize("count", [1, 49, 50, 51, 100, 137])
    def test_allocate_writes_contiguous_blocks_when_requests_exceed_one(
        self, count: int
    ) -> None:
        """Each block starts where the one before ended, and none is too long."""
        store = FakeTicketStore()

        allocate(store, create_tickets(count))

        assert store.numbers() == list(range(1, count + 1))
        assert all(len(each.requests) <= MAX_BLOCK_REQUESTS for each in store.blocks)
        assert all(
            later.first_number == earlier.first_number + len(earlier.requests)
            for earlier, later in pairwise(store.blocks)
        )

    def test_allocate_keeps_blocks_below_the_size_limit_when_tickets_are_large(
        self,
    ) -> None:
        """Fifty tickets of about 110 KB go in two transactions of at most 4 MB."""
        store = FakeTicketStore()
        large = [
            create_ticket(
                description="x" * 60_000,
                attributes={f"name-{number}": "x" * 1024 for number in range(50)},
            )
            for _ in range(MAX_BLOCK_REQUESTS)
        ]

        allocate(store, large)

        assert store.numbers() == list(range(1, MAX_BLOCK_REQUESTS + 1))
        assert len(store.blocks) == 2
        assert all(
            sum(each.size for each in block.requests) <= MAX_BLOCK_BYTES
            for block in store.blocks
        )

    @pytest.mark.parametrize("reason", [Reason.CONFLICT, Reason.THROTTLED])
    @pytest.mark.parametrize("held", ["ticket", "key"])
    def test_allocate_moves_no_further_when_somebody_else_is_trying(
        self, reason: Reason, held: str
    ) -> None:
        """A conflict says nothing of its outcome: to move on would leave a gap."""
        store = seeded(4)
        store.faults += [everywhere(**{held: reason})] * 3

        allocation = allocate(store, create_tickets(2))

        assert [block.first_number for block in store.blocks] == [5, 5, 5, 5]
        assert numbers(allocation) == [5, 6]

    def test_allocate_reads_the_maximum_when_the_rest_is_in_conflict(self) -> None:
        """What followed the taken number may be taken too, once the wait is over."""
        store = FakeTicketStore()
        others_go_on = overtaken(store, by=4)
        held = Slot(ticket=Reason.CONFLICT)

        def fault(block: Block) -> Cancelled:
            others_go_on(block)
            return Cancelled([TAKEN, held, FREE])

        store.faults.append(fault)

        allocation = allocate(store, create_tickets(3))

        assert [block.first_number for block in store.blocks] == [1, 5]
        assert numbers(allocation) == [5, 6, 7]

    def test_allocate_reads_the_maximum_when_the_run_of_taken_numbers_is_broken(
        self,
    ) -> None:
        """Reasons may be a subset: a taken number alone proves no other one."""
        store = seeded(2)
        store.faults.append(cancelled(FREE, TAKEN, FREE))

        allocation = allocate(store, create_tickets(3))

        assert store.calls.count("last_number") == 2
        assert numbers(allocation) == [3, 4, 5]


class TestCollision:
    """A taken number is left behind for the incremented one."""

    def test_allocate_tries_the_incremented_number_when_the_first_is_taken(
        self,
    ) -> None:
        """One number overtaken: the next try starts one higher, without a read."""
        store = FakeTicketStore()
        store.faults.append(overtaken(store, by=1))

        allocation = allocate(store, create_tickets(3))

        assert [block.first_number for block in store.blocks] == [1, 2]
        assert store.calls.count("last_number") == 1
        assert numbers(allocation) == [2, 3, 4]
        assert allocation.collisions == 1

    @pytest.mark.parametrize("size", [2, 10, 11, MAX_BLOCK_REQUESTS])
    @pytest.mark.parametrize("free", [True, False], ids=["one-free", "one-taken"])
    def test_allocate_moves_past_the_taken_numbers_when_the_block_is_of_any_size(
        self, size: int, *, free: bool
    ) -> None:
        """One number too far leaves a gap that nobody fills."""
        store = FakeTicketStore()
        taken = size - 1 if free else 1
        store.faults.append(overtaken(store, by=taken))

        allocate(store, create_tickets(size))

        assert [block.first_number for block in store.blocks] == [1, taken + 1]
        assert store.numbers() == list(range(1, taken + size + 1))

    def test_allocate_reads_the_maximum_when_the_whole_block_is_taken(self) -> None:
        """The end of the run is unknown, so it is read, not guessed."""
        store = FakeTicketStore()
        store.faults.append(overtaken(store, by=7))

        allocation = allocate(store, create_tickets(2))

        assert [block.first_number for block in store.blocks] == [1, 8]
        assert numbers(allocation) == [8, 9]

    @pytest.mark.parametrize("elsewhere", [{2, 9}, {1, 9}, {1, 2, 9}, {3, 9}], ids=str)
    def test_allocate_reads_the_maximum_when_a_number_is_from_elsewhere(
        self, elsewhere: set[int]
    ) -> None:
        """A seed was here: what follows a number from elsewhere is not ours to give."""
        store = FakeTicketStore()

        def seed(_: Block) -> None:
            store.elsewhere["PROJ"] = elsewhere
            missing = {1, 2, 3} - elsewhere
            store.tickets["PROJ"] = {number: create_ticket() for number in missing}

        store.faults.append(seed)

        allocation = allocate(store, create_tickets(5))

        assert [block.first_number for block in store.blocks] == [1, 10]
        assert numbers(allocation) == [10, 11, 12, 13, 14]

    def test_allocate_waits_and_reads_when_it_keeps_colliding(self) -> None:
        """Workers that increment in step would collide on every number."""
        store, time = FakeTicketStore(), FakeTime()
        store.faults += [overtaken(store, by=1) for _ in range(4)]

        allocation = allocate(store, create_tickets(3), time)

        assert store.numbers() == list(range(1, 8))
        assert numbers(allocation) == [5, 6, 7]
        assert len(time.slept) == 2
        assert store.calls.count("last_number") == 3

    def test_allocate_counts_every_collision_when_it_collides_again(self) -> None:
        """The sum tells how crowded a project is."""
        store = FakeTicketStore()
        store.faults += [overtaken(store, by=1) for _ in range(4)]

        allocation = allocate(store, create_tickets(3))

        assert allocation.collisions == 4

    def test_allocate_counts_its_attempts_when_it_collides(self) -> None:
        """Attempts are counted for each committed block."""
        store = FakeTicketStore()
        store.faults.append(overtaken(store, by=1))

        allocation = allocate(store, create_tickets(MAX_BLOCK_REQUESTS + 1))

        assert allocation.attempts_per_block == [2, 1]


class TestOncePerKey:
    """A key that has a number keeps it, and gets no other."""

    def test_allocate_returns_recorded_number_when_key_was_answered_before(
        self,
    ) -> None:
        """A replay gets its old number; its neighbours get the next ones."""
        store, old = seeded(3), create_ticket()
        allocate(store, [old])

        fresh = create_tickets(2)
        allocation = allocate(store, [fresh[0], old, fresh[1]])

        replay = allocation.answers()[old.key]
        assert isinstance(replay, Assignment)
        assert replay.number == 4
        assert old.key not in allocation.assigned
        assert store.keys_in_order()[4:] == [each.idempotency_key for each in fresh]

    def test_allocate_gives_no_second_number_when_the_answer_was_lost(self) -> None:
        """The block was committed: the keys' conditions say so on the next try."""
        store, requests = seeded(2), create_tickets(3)
        store.faults.append(answer_lost(store))

        allocation = allocate(store, requests)

        assert store.numbers() == [1, 2, 3, 4, 5]
        assert sorted(numbers(allocation)) == [3, 4, 5]

    def test_allocate_uses_the_same_numbers_when_the_write_was_lost(self) -> None:
        """The block was not committed: the same numbers are free."""
        store = seeded(2)
        store.faults.append(unanswered)

        allocation = allocate(store, create_tickets(2))

        assert [block.first_number for block in store.blocks] == [3, 3]
        assert numbers(allocation) == [3, 4]

    def test_allocate_writes_nothing_new_when_every_key_was_answered(self) -> None:
        """A batch of replays ends with the first, cancelled, write."""
        store, requests = FakeTicketStore(), create_tickets(5)
        allocate(store, requests)
        store.blocks.clear()

        allocation = allocate(store, requests)

        assert store.numbers() == [1, 2, 3, 4, 5]
        assert numbers(allocation) == [1, 2, 3, 4, 5]
        assert len(store.blocks) == 1

    @pytest.mark.parametrize("ticket", [Reason.CONFLICT, Reason.THROTTLED])
    def test_allocate_waits_for_nobody_when_every_request_was_answered_before(
        self, ticket: Reason
    ) -> None:
        """The announcements of the whole batch would wait with it."""
        store, request, time = FakeTicketStore(), create_ticket(), FakeTime()
        recorded = Assignment(7, request.fingerprint, "then")
        store.faults.append(cancelled(Slot(ticket, Reason.CONDITION_FAILED, recorded)))

        allocation = allocate(store, [request], time)

        assert allocation.answers() == {request.key: recorded}
        assert time.slept == []

    def test_allocate_returns_recorded_number_when_the_repeat_cannot_be_written(
        self,
    ) -> None:
        """What is recorded needs no write, so that its item is invalid is no matter."""
        store, request = FakeTicketStore(), create_ticket()
        recorded = Assignment(7, request.fingerprint, "then")
        invalid, failed = Reason.INVALID, Reason.CONDITION_FAILED
        store.faults.append(cancelled(Slot(invalid, failed, recorded)))

        allocation = allocate(store, [request])

        assert allocation.answers()[request.key] == recorded

    def test_every_block_carries_the_key_of_every_ticket(self) -> None:
        """A committed number is always recorded under its request's key."""
        store, requests = FakeTicketStore(), create_tickets(3)

        allocate(store, requests)

        assert [store.keys[each.key].number for each in requests] == [1, 2, 3]


class TestBounds:
    """Patience ends: what is left goes back to the queue, with its cause."""

    def test_allocate_gives_up_as_contention_when_conflicts_do_not_end(self) -> None:
        """The tries are counted, and the error names the cause."""
        store, requests = FakeTicketStore(), create_tickets(2)
        store.faults += [everywhere(ticket=Reason.CONFLICT)] * 99

        allocation = allocate(store, requests, FakeTime(left=1e6), max_attempts=7)

        assert len(store.blocks) == 7
        assert allocation.conflicts == 7
        assert all(
            isinstance(answer, SequenceContentionError)
            for answer in allocation.answers().values()
        )

    @pytest.mark.parametrize(
        "fault",
        [
            everywhere(key=Reason.THROTTLED),
            everywhere(ticket=Reason.UNKNOWN),
            everywhere(),
            unanswered,
        ],
        ids=["throttled", "unknown reason", "no reason", "unanswered"],
    )
    def test_allocate_gives_up_as_unavailable_when_the_store_keeps_failing(
        self, fault: Fault
    ) -> None:
        """Throttling, unknown reasons and silence are the store's, not contention."""
        store, request = FakeTicketStore(), create_ticket()
        store.faults += [fault] * 99

        allocation = allocate(store, [request], max_attempts=3)

        assert len(store.blocks) == 3
        assert isinstance(allocation.answers()[request.key], StoreUnavailableError)

    def test_allocate_gives_up_as_contention_when_collisions_do_not_end(self) -> None:
        """Others who always win are contention too."""
        store, request = FakeTicketStore(), create_ticket()
        store.faults += [overtaken(store, by=1) for _ in range(99)]

        allocation = allocate(store, [request], max_attempts=5)

        answer = allocation.answers()[request.key]
        assert isinstance(answer, SequenceContentionError)
        assert str(answer) == "others kept taking the next number"
        assert len(store.blocks) == 5

    def test_allocations_share_no_error_when_collisions_do_not_end(self) -> None:
        """A raised error keeps its stack: a shared one would gather those of all."""
        errors = []
        for _ in range(2):
            store, request = FakeTicketStore(), create_ticket()
            store.faults += [overtaken(store, by=1) for _ in range(9)]
            allocation = allocate(store, [request], max_attempts=5)
            errors.append(allocation.answers()[request.key])

        assert errors[0] is not errors[1]

    def test_allocate_gives_up_as_contention_when_the_last_try_collides(self) -> None:
        """A request without a number always has an error, or it would count as done."""
        store, request = FakeTicketStore(), create_ticket()
        store.faults.append(overtaken(store, by=1))

        allocation = allocate(store, [request], max_attempts=1)

        assert isinstance(allocation.answers()[request.key], SequenceContentionError)

    @pytest.mark.parametrize(
        ("slot", "cause"),
        cases(
            {
                "taken": (TAKEN, "others kept taking the next number"),
                "held": (
                    Slot(Reason.CONFLICT),
                    "others kept holding the next number",
                ),
                "throttled": (
                    Slot(Reason.THROTTLED),
                    "DynamoDB throttled the project's writes",
                ),
                "unknown": (
                    Slot(Reason.UNKNOWN),
                    "a transaction was cancelled without a reason",
                ),
            }
        ),
    )
    def test_allocate_says_what_stood_in_the_way_when_it_gives_up(
        self, slot: Slot, cause: str
    ) -> None:
        """The log's reader learns whether to wait, to raise a limit, or to look."""
        store, request = FakeTicketStore(), create_ticket()
        store.faults.append(cancelled(slot))

        allocation = allocate(store, [request], max_attempts=1)

        assert str(allocation.answers()[request.key]) == cause

    def test_allocate_says_that_time_ran_out_when_it_tried_nothing(self) -> None:
        """Nothing stood in the way but the clock."""
        request = create_ticket()

        allocation = allocate(FakeTicketStore(), [request], FakeTime(left=0.0))

        assert str(allocation.answers()[request.key]) == "the invocation's time ran out"

    def test_allocate_guesses_nothing_when_a_slot_is_missing(self) -> None:
        """Reasons that cannot be told apart by position are nobody's reasons."""
        store = FakeTicketStore()
        store.faults.append(cancelled(TAKEN))

        with pytest.raises(ValueError, match="shorter"):
            allocate(store, create_tickets(2))

    def test_allocate_tries_nothing_when_time_is_below_the_reserve(self) -> None:
        """No call is made that the invocation may not live to hear of."""
        store, request = FakeTicketStore(), create_ticket()

        allocation = allocate(store, [request], FakeTime(left=9.9))

        assert store.calls == []
        assert isinstance(allocation.answers()[request.key], NotAttemptedError)

    def test_allocate_stops_before_the_reserve_when_waiting_would_cut_into_it(
        self,
    ) -> None:
        """It hands back at once instead of sleeping its time away."""
        store, time = FakeTicketStore(), FakeTime(left=12.0)
        store.faults += [everywhere(ticket=Reason.CONFLICT)] * 99

        allocate(store, [create_ticket()], time)

        assert time.left >= 10.0
        assert sum(time.slept) <= 2.0

    def test_allocate_keeps_what_was_committed_when_a_later_block_fails(self) -> None:
        """The first block's numbers stand; only the rest is handed back."""
        store, requests = FakeTicketStore(), create_tickets(MAX_BLOCK_REQUESTS + 2)
        store.faults += [lambda _: None, *[everywhere(ticket=Reason.CONFLICT)] * 99]

        allocation = allocate(store, requests, max_attempts=3)

        assert numbers(allocation) == list(range(1, MAX_BLOCK_REQUESTS + 1))
        assert len(allocation.answers()) == len(requests)

    def test_allocate_writes_nothing_when_the_read_used_up_the_time(self) -> None:
        """A slow query leaves no time to hear of a write."""
        store, time = FakeTicketStore(), FakeTime(left=10.5)
        store.on_read = lambda: time.sleep(8.0)

        allocation = allocate(store, [create_ticket()], time)

        assert store.calls == ["last_number"]
        assert [*map(type, allocation.answers().values())] == [NotAttemptedError]

    def test_allocation_keeps_what_it_learned_when_it_meets_a_bug(self) -> None:
        """Only what is pending fails for an error that nobody foresaw."""
        store, requests = FakeTicketStore(), create_tickets(MAX_BLOCK_REQUESTS + 2)
        store.faults += [lambda _: None, _meet_bug]
        allocator = Allocator(store, max_attempts=3, deadline_reserve=0)
        allocation = allocator.start("PROJ", requests)

        with pytest.raises(ZeroDivisionError):
            allocator.advance(allocation, FakeTime().time_left)

        assert numbers(allocation) == list(range(1, MAX_BLOCK_REQUESTS + 1))
        assert len(allocation.pending) == 2

    def test_allocate_recovers_when_the_read_of_the_maximum_fails(self) -> None:
        """A failed query is waited for like a failed write."""
        store, time = seeded(1), FakeTime()
        store.read_errors.append(UNKNOWN_OUTCOME)

        allocation = allocate(store, create_tickets(1), time)

        assert numbers(allocation) == [2]
        assert len(time.slept) == 1


class TestPatience:
    """Who is in the way gets time; how much of it, the environment has learned."""

    def test_allocate_reads_anew_when_it_has_waited(self) -> None:
        """Others went on meanwhile; a read costs less than a number that is taken."""
        environment = Environment(seeded(2))
        others_go_on = overtaken(environment.store, by=40)

        def fault(block: Block) -> Cancelled:
            others_go_on(block)
            return Cancelled([Slot(ticket=Reason.CONFLICT)])

        environment.store.faults.append(fault)

        allocation = environment.allocate(create_tickets(1))

        assert environment.firsts == [3, 43]
        assert (environment.reads, allocation.collisions) == (2, 0)

    def test_pauses_grow_when_others_keep_being_faster(self) -> None:
        """The more crowded a project is, the more rarely each of its workers tries."""
        environment = Environment()
        environment.store.faults += [everywhere(ticket=Reason.CONFLICT)] * 4

        environment.allocate(create_tickets(1))

        assert environment.time.slept == pytest.approx(
            [BASE_DELAY_SECONDS * CONTENTION_MULTIPLIER**each for each in (1, 2, 3, 4)]
        )

    def test_pauses_shrink_by_degrees_when_a_block_gets_through(self) -> None:
        """One success does not mean that the crowd is gone."""
        environment, conflict = Environment(), everywhere(ticket=Reason.CONFLICT)
        environment.store.faults += [*[conflict] * 5, lambda _: None, conflict]

        environment.allocate(create_tickets(MAX_BLOCK_REQUESTS + 1))

        grown, last = environment.time.slept[4:]
        assert last == pytest.approx(grown * SUCCESS_DECAY * CONTENTION_MULTIPLIER)

    @pytest.mark.parametrize("fault", [everywhere(), unanswered])
    def test_pauses_double_when_the_store_fails(self, fault: Fault) -> None:
        """A lost answer says nothing of a crowd."""
        environment = Environment(time=FakeTime(left=1e6))
        environment.store.faults += [fault] * 3

        environment.allocate(create_tickets(1))

        assert environment.time.slept == pytest.approx(
            [BASE_DELAY_SECONDS * FAILURE_MULTIPLIER**each for each in (1, 2, 3)]
        )

    def test_allocate_does_not_pause_when_no_try_is_left(self) -> None:
        """Nobody would gain, and the announcements of the batch would wait."""
        environment = Environment(max_attempts=2)
        environment.store.faults += [everywhere(ticket=Reason.CONFLICT)] * 2

        environment.allocate(create_tickets(1))

        assert len(environment.time.slept) == 1

    def test_pauses_are_long_when_the_partition_is_overloaded(self) -> None:
        """Each try takes from those who would get through."""
        environment = Environment(time=FakeTime(left=1e6))
        environment.store.faults += [everywhere(key=Reason.THROTTLED)] * 3

        environment.allocate(create_tickets(1))

        assert environment.time.slept == [
            MIN_THROTTLING_DELAY_SECONDS,
            MIN_THROTTLING_DELAY_SECONDS * THROTTLING_MULTIPLIER,
            MAX_DELAY_SECONDS,
        ]

    def test_pause_is_long_when_throttling_comes_with_a_conflict(self) -> None:
        """The conflict is counted all the same, for it is one."""
        environment = Environment(max_attempts=2)
        held, throttled = Slot(ticket=Reason.CONFLICT), Slot(key=Reason.THROTTLED)
        environment.store.faults += [cancelled(held, throttled)] * 2

        allocation = environment.allocate(create_tickets(2))

        assert environment.time.slept == [MIN_THROTTLING_DELAY_SECONDS]
        assert allocation.conflicts == 2
        assert {*map(type, allocation.answers().values())} == {StoreThrottledError}

    def test_throttled_block_is_no_conflict_when_nobody_holds_an_item(self) -> None:
        """The two call for different measures, so they are counted apart."""
        environment = Environment()
        environment.store.faults.append(everywhere(ticket=Reason.THROTTLED))

        assert environment.allocate(create_tickets(1)).conflicts == 0

    def test_pause_is_drawn_from_the_upper_half_when_it_is_random(self) -> None:
        """A lower end of nought would try again at once, in the crowd's middle."""
        ranges: list[tuple[float, float]] = []

        def jitter(low: float, high: float) -> float:
            ranges.append((low, high))
            return low

        environment = Environment(jitter=jitter)
        environment.store.faults += [everywhere(ticket=Reason.CONFLICT)] * 2

        environment.allocate(create_tickets(1))

        first = BASE_DELAY_SECONDS * CONTENTION_MULTIPLIER
        second = first * CONTENTION_MULTIPLIER
        assert ranges == [(first / 2, first), (second / 2, second)]
        assert environment.time.slept == [first / 2, second / 2]

    def test_pause_is_a_third_of_what_is_left_when_it_would_be_longer(self) -> None:
        """Of what is left above the reserve, that is."""
        environment = Environment(time=FakeTime(left=10.3))
        environment.store.faults.append(everywhere(ticket=Reason.THROTTLED))

        allocation = environment.allocate(create_tickets(1))

        assert environment.time.slept == [pytest.approx(0.3 * MAX_DELAY_SHARE)]
        assert numbers(allocation) == [1]

    def test_pauses_get_shorter_when_time_runs_out(self) -> None:
        """So nobody starves, and nobody tries below the reserve."""
        environment = Environment(time=FakeTime(left=13.0))
        environment.store.faults += [everywhere(ticket=Reason.THROTTLED)] * 99

        environment.allocate(create_tickets(1))

        slept = environment.time.slept
        assert len(slept) > 10
        assert slept == sorted(slept, reverse=True)
        assert 10.0 <= environment.time.left < 10.0 + BASE_DELAY_SECONDS
        assert len(environment.store.blocks) == len(slept) + 1

    def test_allocate_tries_again_when_just_the_shortest_pause_is_left(self) -> None:
        """The bound itself is enough."""
        time = FakeTime(left=BASE_DELAY_SECONDS)
        environment = Environment(time=time, reserve=0.0)
        environment.store.faults.append(everywhere(ticket=Reason.CONFLICT))

        allocation = environment.allocate(create_tickets(1))

        assert numbers(allocation) == [1]

    def test_allocate_gives_up_at_once_when_less_than_the_shortest_pause_is_left(
        self,
    ) -> None:
        """Whoever is in the way would still be there."""
        time = FakeTime(left=BASE_DELAY_SECONDS * 0.99)
        environment, request = Environment(time=time, reserve=0.0), create_ticket()
        environment.store.faults.append(everywhere(ticket=Reason.CONFLICT))

        allocation = environment.allocate([request])

        assert (environment.time.slept, environment.firsts) == ([], [1])
        assert isinstance(allocation.answers()[request.key], SequenceContentionError)

    def test_pause_outlives_the_batch_when_the_project_is_crowded(self) -> None:
        """The next batch meets the same contention; it need not learn that again."""
        environment, conflict = Environment(), everywhere(ticket=Reason.CONFLICT)
        environment.store.faults += [conflict] * 5
        environment.allocate(create_tickets(1))
        environment.store.faults.append(conflict)

        environment.allocate(create_tickets(1), after=timedelta(hours=1))

        *_, grown, last = environment.time.slept
        assert last == pytest.approx(grown * SUCCESS_DECAY * CONTENTION_MULTIPLIER)

    def test_pause_is_the_projects_own_when_another_one_is_crowded(self) -> None:
        """Projects are independent."""
        environment, conflict = Environment(), everywhere(ticket=Reason.CONFLICT)
        environment.store.faults += [conflict] * 5
        environment.allocate(create_tickets(1))
        environment.store.faults.append(conflict)

        environment.allocate(create_tickets(1, "CALM"), project_id="CALM")

        assert environment.time.slept[-1] == BASE_DELAY_SECONDS * CONTENTION_MULTIPLIER

    def test_environments_share_nothing_when_nobody_gives_them_anything(self) -> None:
        """Each process has its own."""
        one, other = (Allocator(FakeTicketStore(), 25, 10.0) for _ in range(2))

        assert one.cache is not other.cache
        assert one.backoff is not other.backoff


class TestRememberedNumber:
    """The number after a block of ours saves a read, and is trusted no further."""

    def test_allocate_reads_once_when_batches_follow_at_once(self) -> None:
        """A transaction is all that the second one costs."""
        environment = Environment(seeded(7))

        for _ in range(3):
            environment.allocate(create_tickets(2))

        assert environment.store.calls == ["last_number", *["write_block"] * 3]
        assert environment.store.numbers() == list(range(1, 14))

    @pytest.mark.parametrize(("after", "reads"), [(TTL, 1), (TOO_LATE, 2)])
    def test_allocate_reads_again_when_the_number_is_too_old(
        self, after: timedelta, reads: int
    ) -> None:
        """Somebody else has probably gone on, and a collision costs more."""
        environment = Environment()
        environment.allocate(create_tickets(1))

        environment.allocate(create_tickets(1), after)

        assert environment.reads == reads

    def test_number_is_as_old_as_the_last_block_when_there_were_several(self) -> None:
        """Each block of a batch is remembered in its turn."""
        environment = Environment()
        environment.allocate(create_tickets(MAX_BLOCK_REQUESTS * 2))

        environment.allocate(create_tickets(1))

        assert environment.firsts == [1, 51, 101]
        assert environment.reads == 1

    @pytest.mark.parametrize(
        ("others", "firsts", "reads"),
        [(1, [5, 6], 1), (2, [5, 7], 1), (3, [5, 8], 2), (40, [5, 45], 2)],
    )
    def test_stale_number_costs_a_collision_and_no_gap_when_others_went_on(
        self, others: int, firsts: list[int], reads: int
    ) -> None:
        """Taken in part, it is moved past; taken as a whole, it is read."""
        environment = Environment()
        environment.allocate(create_tickets(4))
        others_commit(environment.store, others)

        allocation = environment.allocate(create_tickets(3))

        assert environment.firsts[1:] == firsts
        assert (environment.reads, allocation.collisions) == (reads, 1)
        assert environment.store.numbers() == list(range(1, 4 + others + 3 + 1))
        assert environment.time.slept == []

    def test_stale_number_is_read_anew_when_somebody_holds_it(self) -> None:
        """After a pause nothing is taken from memory."""
        environment = Environment()
        environment.allocate(create_tickets(1))
        environment.store.faults.append(everywhere(ticket=Reason.CONFLICT))

        environment.allocate(create_tickets(2))

        assert environment.store.calls[2:] == [
            "write_block",
            "last_number",
            "write_block",
        ]
        assert environment.store.numbers() == [1, 2, 3]

    @pytest.mark.parametrize(
        "fault",
        [
            unanswered,
            everywhere(ticket=Reason.CONFLICT),
            everywhere(ticket=Reason.THROTTLED),
            everywhere(ticket=Reason.CONDITION_FAILED),
            everywhere(ticket=Reason.INVALID),
            lambda _: Refused("ValidationException"),
        ],
        ids=["unknown", "conflict", "throttled", "taken", "invalid", "refused"],
    )
    def test_nothing_is_remembered_when_a_block_was_only_tried(
        self, fault: Fault
    ) -> None:
        """Its last number may never be committed: to build on it leaves a gap."""
        environment = Environment(seeded(2), max_attempts=1)
        environment.store.faults.append(fault)
        environment.allocate(create_tickets(1))

        environment.allocate(create_tickets(1))

        assert (environment.reads, environment.firsts) == (2, [3, 3])

    def test_nothing_is_remembered_when_the_answer_was_lost(self) -> None:
        """It was committed, but not by anything that we have seen."""
        environment = Environment(seeded(2), max_attempts=1)
        environment.store.faults.append(answer_lost(environment.store))
        environment.allocate(create_tickets(2))

        environment.allocate(create_tickets(1))

        assert (environment.reads, environment.firsts) == (2, [3, 5])

    def test_nothing_is_remembered_when_all_were_replays(self) -> None:
        """Their numbers are old: others have come after them."""
        store, requests = FakeTicketStore(), create_tickets(2)
        allocate(store, requests)
        others_commit(store, 5)
        environment = Environment(store)

        environment.allocate(requests)

        assert environment.cache.next_number("PROJ", environment.clock) is None

    def test_number_is_the_projects_own_when_another_one_has_more(self) -> None:
        """One project's number would be a gap in another."""
        environment = Environment()
        environment.allocate(create_tickets(5))

        environment.allocate(create_tickets(1, "NEW"), project_id="NEW")

        assert environment.store.numbers("NEW") == [1]

    def test_number_is_the_projects_own_when_another_one_differs_in_case_only(
        self,
    ) -> None:
        """DynamoDB's keys know capitals, and so must whatever stands for them."""
        environment = Environment()
        environment.allocate(create_tickets(5))

        environment.allocate(create_tickets(1, "proj"), project_id="proj")

        assert environment.store.numbers("proj") == [1]

    def test_allocate_tries_nothing_when_time_is_up_and_it_knows_the_number(
        self,
    ) -> None:
        """A number at hand is no reason to begin what cannot be ended."""
        environment, request = Environment(), create_ticket()
        environment.allocate(create_tickets(1))
        environment.time.left = 9.9

        allocation = environment.allocate([request])

        assert environment.firsts == [1]
        assert isinstance(allocation.answers()[request.key], NotAttemptedError)


class TestIsolationOfTheOffender:
    """What DynamoDB refuses alone fails alone; its neighbours get their numbers."""

    @pytest.mark.parametrize("culprit", range(5))
    @pytest.mark.parametrize("named", [True, False], ids=["reason", "exception"])
    def test_allocate_numbers_the_neighbours_when_one_ticket_is_refused(
        self, culprit: int, *, named: bool
    ) -> None:
        """The block is split until the offender stands alone."""
        store, requests = FakeTicketStore(), create_tickets(5)
        requests[culprit] = _of_item_size(MAX_ITEM_BYTES + 1)
        store.faults += [_refusal(requests[culprit], named=named)] * 99

        allocation = allocate(store, requests)

        assert isinstance(
            allocation.answers()[requests[culprit].key], TicketTooLargeError
        )
        assert store.numbers() == [1, 2, 3, 4]
        del requests[culprit]
        assert store.keys_in_order() == [each.idempotency_key for each in requests]

    @pytest.mark.parametrize("named", [True, False], ids=["reason", "exception"])
    @pytest.mark.parametrize(
        "size", [None, MAX_ITEM_BYTES], ids=["ordinary", "as-large-as-an-item"]
    )
    def test_refused_ticket_is_transient_when_an_item_can_hold_it(
        self, size: int | None, *, named: bool
    ) -> None:
        """The table is wrong, say: every message is refused, and none is poison."""
        store, good = FakeTicketStore(), create_ticket()
        refused = _of_item_size(size) if size else create_ticket()
        store.faults += [_refusal(refused, named=named)] * 9

        answers = allocate(store, [refused, good]).answers()

        assert type(answers[refused.key]) is StoreUnavailableError
        assert store.keys_in_order() == [good.idempotency_key]

    def test_allocate_numbers_the_other_when_one_of_two_is_refused(self) -> None:
        """A pair is split in two."""
        store, (bad, good) = FakeTicketStore(), create_tickets(2)
        store.faults += [_refusal(bad, named=False)] * 9

        allocate(store, [bad, good])

        assert store.keys_in_order() == [good.idempotency_key]

    @pytest.mark.parametrize(
        ("named", "why"),
        [(True, "an item of the block is invalid"), (False, "ValidationException")],
        ids=["reason", "exception"],
    )
    def test_allocate_says_what_dynamodb_said_when_a_ticket_is_refused(
        self, why: str, *, named: bool
    ) -> None:
        """The dead letter's reader learns who refused it, and how."""
        store, request = FakeTicketStore(), create_ticket()
        store.faults.append(_refusal(request, named=named))

        allocation = allocate(store, [request])

        reason = f"DynamoDB refuses the ticket: {why}"
        assert str(allocation.answers()[request.key]) == reason

    def test_allocate_writes_full_blocks_again_when_the_offender_is_gone(self) -> None:
        """One bad ticket does not slow down the hundred behind it."""
        store, requests = FakeTicketStore(), create_tickets(MAX_BLOCK_REQUESTS * 2)
        store.faults += [_refusal(requests[0], named=False)] * 99

        allocate(store, requests)

        assert len(store.blocks[-2].requests) == MAX_BLOCK_REQUESTS
        assert store.numbers() == list(range(1, MAX_BLOCK_REQUESTS * 2))


def _of_item_size(size: int) -> CreateTicket:
    """Return a request for which an item of so many bytes is reckoned with."""
    empty = create_ticket(description="")
    room = size - REQUEST_OVERHEAD_BYTES - empty.size
    # No parsed body is that large, so the description is put in afterwards.
    fields = empty.model_dump() | {"description": "d" * room}
    return CreateTicket.model_construct(**fields)


def _meet_bug(block: Block) -> None:
    del block
    raise ZeroDivisionError


def _refusal(offender: CreateTicket, *, named: bool) -> Fault:
    """Refuse any block with the offender, as a reason or as a whole."""

    def fault(block: Block) -> Cancelled | Refused | None:
        if offender not in block.requests:
            return None
        if not named:
            return Refused("ValidationException")
        return Cancelled(
            [
                Slot(Reason.INVALID if each is offender else Reason.NONE)
                for each in block.requests
            ]
        )

    return fault


def test_time_of_assignment_is_utc_with_milliseconds() -> None:
    """The stamp is what subscribers and the key item hold, letter for letter."""
    store, request = FakeTicketStore(), create_ticket()

    answer = allocate(store, [request]).answers()[request.key]

    assert isinstance(answer, Assignment)
    assert len(answer.assigned_at) == len("2026-11-21T05:53:00.123Z")
    assert answer.assigned_at.endswith("Z")
