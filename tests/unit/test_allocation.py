"""The algorithm over a fake store whose every answer a test can choose."""

from itertools import pairwise

import pytest

from tests.builders import create_ticket, create_tickets
from tests.cases import cases
from tests.fakes import FakeTicketStore, FakeTime, Fault
from ticket_numbering.allocation import (
    BACKOFF_BASE_SECONDS,
    BACKOFF_CAP_SECONDS,
    Allocation,
    Allocator,
)
from ticket_numbering.errors import (
    NotAttemptedError,
    SequenceContentionError,
    StoreUnavailableError,
    TicketTooLargeError,
)
from ticket_numbering.messages import CreateTicket
from ticket_numbering.store_port import (
    MAX_BLOCK_BYTES,
    MAX_BLOCK_REQUESTS,
    Assignment,
    Block,
    Cancelled,
    Reason,
    Refused,
    Slot,
)

TAKEN = Slot(ticket=Reason.CONDITION_FAILED)
FREE = Slot()
UNKNOWN_OUTCOME = StoreUnavailableError("no answer")


def allocate(
    store: FakeTicketStore,
    requests: list[CreateTicket],
    time: FakeTime | None = None,
    max_attempts: int = 25,
) -> Allocation:
    """Run the algorithm; its waits take the longest that the jitter allows."""
    time = time or FakeTime()
    allocator = Allocator(
        store,
        max_attempts=max_attempts,
        deadline_reserve=10.0,
        sleep=time.sleep,
        jitter=lambda _, ceiling: ceiling,
    )
    run = allocator.start("PROJ", requests, time.time_left)
    run.work()
    return run.result()


def numbers(allocation: Allocation) -> list[int]:
    """Return the numbers given, in the order of the requests."""
    return [
        answer.number
        for answer in allocation.answers.values()
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
    def test_allocate_tries_the_same_number_again_when_somebody_else_is_trying(
        self, reason: Reason, held: str
    ) -> None:
        """A conflict says nothing of its outcome: to move on would leave a gap."""
        store = seeded(4)
        store.faults += [everywhere(**{held: reason})] * 3

        allocation = allocate(store, create_tickets(2))

        assert [block.first_number for block in store.blocks] == [5, 5, 5, 5]
        assert numbers(allocation) == [5, 6]

    def test_allocate_moves_past_taken_numbers_only_when_the_rest_is_in_conflict(
        self,
    ) -> None:
        """Of a block 1..3 whose first is taken and second held, 2 comes next."""
        store = FakeTicketStore()
        held = Slot(ticket=Reason.CONFLICT)
        store.faults.append(cancelled(TAKEN, held, FREE))

        allocate(store, create_tickets(3))

        assert [block.first_number for block in store.blocks] == [1, 2]

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

    def test_allocate_reads_the_maximum_when_the_whole_block_is_taken(self) -> None:
        """The end of the run is unknown, so it is read, not guessed."""
        store = FakeTicketStore()
        store.faults.append(overtaken(store, by=7))

        allocation = allocate(store, create_tickets(2))

        assert [block.first_number for block in store.blocks] == [1, 8]
        assert numbers(allocation) == [8, 9]

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

        assert allocation.attempts == [2, 1]


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

        replay = allocation.answers[old.key]
        assert isinstance(replay, Assignment)
        assert (replay.number, replay.replayed) == (4, True)
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

    def test_allocate_returns_recorded_number_when_the_repeat_cannot_be_written(
        self,
    ) -> None:
        """What is recorded needs no write, so that its item is invalid is no matter."""
        store, request = FakeTicketStore(), create_ticket()
        recorded = Assignment(7, request.fingerprint, "then", replayed=True)
        invalid, failed = Reason.INVALID, Reason.CONDITION_FAILED
        store.faults.append(cancelled(Slot(invalid, failed, recorded)))

        allocation = allocate(store, [request])

        assert allocation.answers[request.key] == recorded

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
            for answer in allocation.answers.values()
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
        assert isinstance(allocation.answers[request.key], StoreUnavailableError)

    def test_allocate_gives_up_as_contention_when_collisions_do_not_end(self) -> None:
        """Others who always win are contention too."""
        store, request = FakeTicketStore(), create_ticket()
        store.faults += [overtaken(store, by=1) for _ in range(99)]

        allocation = allocate(store, [request], max_attempts=5)

        answer = allocation.answers[request.key]
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
            errors.append(allocation.answers[request.key])

        assert errors[0] is not errors[1]

    def test_allocate_gives_up_as_contention_when_the_last_try_collides(self) -> None:
        """A request without a number always has an error, or it would count as done."""
        store, request = FakeTicketStore(), create_ticket()
        store.faults.append(overtaken(store, by=1))

        allocation = allocate(store, [request], max_attempts=1)

        assert isinstance(allocation.answers[request.key], SequenceContentionError)

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

        assert str(allocation.answers[request.key]) == cause

    def test_allocate_says_that_time_ran_out_when_it_tried_nothing(self) -> None:
        """Nothing stood in the way but the clock."""
        request = create_ticket()

        allocation = allocate(FakeTicketStore(), [request], FakeTime(left=0.0))

        assert str(allocation.answers[request.key]) == "the invocation's time ran out"

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
        assert isinstance(allocation.answers[request.key], NotAttemptedError)

    def test_allocate_stops_before_the_reserve_when_waiting_would_cut_into_it(
        self,
    ) -> None:
        """It hands back at once instead of sleeping its time away."""
        store, time = FakeTicketStore(), FakeTime(left=12.0)
        store.faults += [everywhere(ticket=Reason.CONFLICT)] * 99

        allocate(store, [create_ticket()], time)

        assert time.left >= 10.0
        assert sum(time.slept) <= 2.0

    def test_allocate_tries_again_when_a_wait_leaves_just_the_reserve(self) -> None:
        """The reserve is what an attempt needs, so it is enough."""
        store, time = FakeTicketStore(), FakeTime(left=10.0 + BACKOFF_BASE_SECONDS)
        store.faults.append(everywhere(ticket=Reason.CONFLICT))

        allocation = allocate(store, create_tickets(1), time)

        assert time.left == 10.0
        assert numbers(allocation) == [1]

    def test_allocate_keeps_what_was_committed_when_a_later_block_fails(self) -> None:
        """The first block's numbers stand; only the rest is handed back."""
        store, requests = FakeTicketStore(), create_tickets(MAX_BLOCK_REQUESTS + 2)
        store.faults += [lambda _: None, *[everywhere(ticket=Reason.CONFLICT)] * 99]

        allocation = allocate(store, requests, max_attempts=3)

        assert numbers(allocation) == list(range(1, MAX_BLOCK_REQUESTS + 1))
        assert len(allocation.answers) == len(requests)

    def test_allocate_writes_nothing_when_the_read_used_up_the_time(self) -> None:
        """A slow query leaves no time to hear of a write."""
        store, time = FakeTicketStore(), FakeTime(left=10.5)
        store.on_read = lambda: time.sleep(8.0)

        allocation = allocate(store, [create_ticket()], time)

        assert store.calls == ["last_number"]
        assert [*map(type, allocation.answers.values())] == [NotAttemptedError]

    def test_allocation_keeps_what_it_learned_when_it_meets_a_bug(self) -> None:
        """Only what is pending fails for an error that nobody foresaw."""
        store, requests = FakeTicketStore(), create_tickets(MAX_BLOCK_REQUESTS + 2)
        store.faults += [lambda _: None, _meet_bug]
        allocator = Allocator(store, max_attempts=3, deadline_reserve=0)
        run = allocator.start("PROJ", requests, FakeTime().time_left)

        with pytest.raises(ZeroDivisionError) as bug:
            run.work()

        allocation = run.result(bug.value)
        assert numbers(allocation) == list(range(1, MAX_BLOCK_REQUESTS + 1))
        assert [*allocation.answers.values()][-2:] == [bug.value] * 2

    def test_allocator_waits_by_itself_when_nobody_says_how(self) -> None:
        """In Lambda it sleeps for a random time, and goes on."""
        store, requests = FakeTicketStore(), create_tickets(1)
        store.faults.append(everywhere(ticket=Reason.CONFLICT))
        run = Allocator(store, max_attempts=2, deadline_reserve=10.0).start(
            "PROJ", requests, FakeTime().time_left
        )

        run.work()

        assert numbers(run.result()) == [1]

    def test_allocate_recovers_when_the_read_of_the_maximum_fails(self) -> None:
        """A failed query is waited for like a failed write."""
        store, time = seeded(1), FakeTime()
        store.read_errors.append(UNKNOWN_OUTCOME)

        allocation = allocate(store, create_tickets(1), time)

        assert numbers(allocation) == [2]
        assert len(time.slept) == 1

    def test_waits_double_up_to_the_cap_and_start_anew_when_progress_is_made(
        self,
    ) -> None:
        """The ceiling of the jitter doubles with each setback since the last block."""
        store, time = FakeTicketStore(), FakeTime(left=1e6)
        conflicts = [everywhere(ticket=Reason.CONFLICT)]
        store.faults += [*conflicts * 7, lambda _: None, *conflicts]

        allocate(store, create_tickets(MAX_BLOCK_REQUESTS + 1), time)

        base = BACKOFF_BASE_SECONDS
        assert time.slept[:3] == pytest.approx([base, 2 * base, 4 * base])
        assert time.slept[6] == BACKOFF_CAP_SECONDS
        assert time.slept[7] == base

    def test_waits_are_spread_over_the_whole_range_when_jitter_is_drawn(self) -> None:
        """Full jitter: the lower end is nought, or workers would stay in step."""
        ranges: list[tuple[float, float]] = []

        def jitter(low: float, high: float) -> float:
            ranges.append((low, high))
            return 0.0

        store = FakeTicketStore()
        store.faults += [everywhere(ticket=Reason.CONFLICT)] * 2
        allocator = Allocator(store, 25, 10.0, sleep=lambda _: None, jitter=jitter)

        allocator.start("PROJ", create_tickets(1), FakeTime().time_left).work()

        assert ranges == [(0, BACKOFF_BASE_SECONDS), (0, 2 * BACKOFF_BASE_SECONDS)]


class TestIsolationOfTheOffender:
    """What DynamoDB refuses alone is poison; its neighbours get their numbers."""

    @pytest.mark.parametrize("culprit", range(5))
    @pytest.mark.parametrize("named", [True, False], ids=["reason", "exception"])
    def test_allocate_numbers_the_neighbours_when_one_ticket_is_refused(
        self, culprit: int, *, named: bool
    ) -> None:
        """The block is split until the offender stands alone."""
        store, requests = FakeTicketStore(), create_tickets(5)
        store.faults += [_refusal(requests[culprit], named=named)] * 99

        allocation = allocate(store, requests)

        assert isinstance(
            allocation.answers[requests[culprit].key], TicketTooLargeError
        )
        assert store.numbers() == [1, 2, 3, 4]
        del requests[culprit]
        assert store.keys_in_order() == [each.idempotency_key for each in requests]

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
        assert str(allocation.answers[request.key]) == reason

    def test_allocate_writes_full_blocks_again_when_the_offender_is_gone(self) -> None:
        """One bad ticket does not slow down the hundred behind it."""
        store, requests = FakeTicketStore(), create_tickets(MAX_BLOCK_REQUESTS * 2)
        store.faults += [_refusal(requests[0], named=False)] * 99

        allocate(store, requests)

        assert len(store.blocks[-2].requests) == MAX_BLOCK_REQUESTS
        assert store.numbers() == list(range(1, MAX_BLOCK_REQUESTS * 2))


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

    answer = allocate(store, [request]).answers[request.key]

    assert isinstance(answer, Assignment)
    assert len(answer.assigned_at) == len("2026-11-21T05:53:00.123Z")
    assert answer.assigned_at.endswith("Z")
