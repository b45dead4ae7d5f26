"""The algorithm over a fake store whose every answer a test can choose."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.builders import ASSIGNED_AT, block_of, create_ticket, create_tickets
from tests.support.cases import cases
from tests.support.fakes import (
    FakeTicketStore,
    FakeTime,
    Fault,
    answer_lost,
    cancelled,
    everywhere,
    held,
    overtaken,
    unanswered,
)
from ticket_numbering.allocation.allocation import (
    MAX_DELAY_SHARE,
    MIN_SPARE_SECONDS,
    SHRINKING_SECONDS,
    Allocator,
)
from ticket_numbering.allocation.backoff import (
    BASE_DELAY_SECONDS,
    CONTENTION_MULTIPLIER,
    MIN_DELAY_SECONDS,
    SUCCESS_DECAY,
    Backoff,
)
from ticket_numbering.allocation.block import (
    MAX_BLOCK_BYTES,
    MAX_BLOCK_REQUESTS,
    MAX_ITEM_BYTES,
    REQUEST_OVERHEAD_BYTES,
    Block,
)
from ticket_numbering.allocation.progress import Progress
from ticket_numbering.allocation.sequence_cache import TTL, SequenceCache
from ticket_numbering.allocation.store import (
    MAX_KEYS_PER_READ,
    BlockInvalid,
    Cancelled,
    Reason,
    Slot,
)
from ticket_numbering.contract.errors import (
    DamagedKeyRecordError,
    DamagedSequenceError,
    NotAttemptedError,
    SequenceContentionError,
    SequenceFullError,
    StoreRefusedError,
    StoreUnavailableError,
    TicketTooLargeError,
)
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import Assignment, CreateTicket, RequestKey

TAKEN = Slot(ticket=Reason.CONDITION_FAILED, taken_by=Head(1, ASSIGNED_AT))
FREE = Slot()
THROTTLED = everywhere(ticket=Reason.THROTTLED)
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
AT_ONCE = TTL / 2
TOO_LATE = TTL + timedelta(milliseconds=1)

Faults = Callable[[FakeTicketStore], list[Fault]]


@dataclass
class Environment:
    """An execution environment that works on batches in turn, and stays warm."""

    store: FakeTicketStore = field(default_factory=FakeTicketStore)
    time: FakeTime = field(default_factory=FakeTime)
    reserve: float = 10.0
    max_attempts: int = 25
    cache: SequenceCache = field(default_factory=SequenceCache)
    backoff: Backoff = field(default_factory=Backoff)
    clock: datetime = NOON
    delays: list[tuple[float, float]] = field(default_factory=list)
    """The shortest and the longest delay that the jitter may choose, each time."""

    def allocate(
        self,
        requests: list[CreateTicket],
        *faults: Fault,
        after: timedelta = AT_ONCE,
        in_order: bool = False,
    ) -> Progress:
        """Run the algorithm so long after the batch before, with the longest delays."""
        self.clock += after
        self.store.faults = list(faults)
        allocator = Allocator(
            self.store,
            max_attempts=self.max_attempts,
            deadline_reserve=self.reserve,
            cache=self.cache,
            backoff=self.backoff,
            jitter=self._longest,
            now=lambda: self.clock,
        )
        allocation = allocator.start(requests[0].project_id, requests)
        allocation.in_order = in_order
        while (delay := allocator.advance(allocation, self.time.time_left)) is not None:
            self.time.sleep(delay)
        return allocation

    def _longest(self, low: float, high: float) -> float:
        self.delays.append((low, high))
        return high

    @property
    def reads(self) -> int:
        """How often it read the last number."""
        return self.store.calls.count("head")

    @property
    def firsts(self) -> list[int]:
        """The first number of each block that it tried."""
        return [block.first_number for block in self.store.blocks]


@pytest.fixture
def environment() -> Environment:
    """Return a new environment over an empty store."""
    return Environment()


def numbers(allocation: Progress) -> list[int]:
    """Return the numbers given, ascending."""
    answers = [*allocation.settled.values(), *allocation.assigned.values()]
    return sorted(answer.number for answer in answers if isinstance(answer, Assignment))


def keys(requests: list[CreateTicket]) -> list[str]:
    """Return the idempotency keys of the requests."""
    return [request.idempotency_key for request in requests]


def contention(what: str) -> Exception:
    """Return the error of a request whose number others kept from it."""
    return SequenceContentionError(f"others kept {what} the next number")


def overtaken_and_held(store: FakeTicketStore) -> Fault:
    """Let four numbers be taken, and show one as taken and one as held."""

    def fault(block: Block) -> Cancelled:
        store.fill(4, block.project_id)
        return Cancelled([TAKEN, Slot(ticket=Reason.CONFLICT), FREE])

    return fault


@dataclass(frozen=True)
class Run:
    """The obstacles and the attempts of one batch."""

    before: int
    """Tickets that the project has."""
    count: int
    faults: Faults
    firsts: list[int]
    reads: int = 1
    delays: int = 0


RUNS = cases(
    {
        "one": Run(41, 1, lambda _: [], [42]),
        "a-block": Run(41, 50, lambda _: [], [42]),
        "one-more": Run(41, 51, lambda _: [], [42, 92]),
        "three-blocks": Run(41, 137, lambda _: [], [42, 92, 142]),
        "first-taken": Run(0, 3, lambda s: [overtaken(s, 1)], [1, 2]),
        "all-but-one-taken": Run(0, 50, lambda s: [overtaken(s, 49)], [1, 50]),
        "just-all-taken": Run(0, 3, lambda s: [overtaken(s, 3)], [1, 4], reads=2),
        "more-taken": Run(0, 2, lambda s: [overtaken(s, 7)], [1, 8], reads=2),
        "taken-behind-a-free-one": Run(
            2, 3, lambda _: [cancelled(FREE, TAKEN, FREE)], [3, 3], reads=2
        ),
        "taken-again-and-again": Run(
            0, 3, lambda s: [overtaken(s, 1)] * 4, [1, 2, 3, 4, 5], reads=3, delays=2
        ),
        "held": Run(4, 2, lambda _: [held] * 3, [5] * 4, reads=4, delays=3),
        "taken-then-held": Run(
            0, 3, lambda s: [overtaken_and_held(s)], [1, 5], reads=2, delays=1
        ),
        "throttled": Run(4, 2, lambda _: [THROTTLED], [5, 5, 6], reads=2, delays=1),
        "write-lost": Run(2, 2, lambda _: [unanswered], [3, 3], reads=2, delays=1),
        "answer-lost": Run(2, 3, lambda s: [answer_lost(s)], [3, 6], reads=2, delays=1),
    }
)


class TestGapless:
    """A project's numbers are exactly 1..n, in the order asked."""

    @pytest.mark.parametrize(("excess", "lengths"), [(0, [2, 1]), (1, [1, 2])])
    def test_allocate_keeps_blocks_below_the_size_limit_when_tickets_are_large(
        self, environment: Environment, excess: int, lengths: list[int]
    ) -> None:
        half = MAX_BLOCK_BYTES // 2
        requests = [_of_item_size(size) for size in (half, half + excess, half - 1)]

        environment.allocate(requests)

        blocks = environment.store.blocks
        assert [len(block.requests) for block in blocks] == lengths

    @pytest.mark.parametrize("run", RUNS)
    def test_allocate_leaves_no_gap_whatever_is_in_the_way(
        self, environment: Environment, run: Run
    ) -> None:
        """It moves on only past committed numbers, and else reads the maximum."""
        store, requests = environment.store.fill(run.before), create_tickets(run.count)

        allocation = environment.allocate(requests, *run.faults(store))

        last = max(store.numbers())
        assert store.numbers() == list(range(1, last + 1))
        assert store.keys_in_order()[-run.count :] == keys(requests)
        assert numbers(allocation) == store.numbers()[-run.count :]
        assert environment.firsts == run.firsts
        assert environment.reads == run.reads
        assert len(environment.time.slept) == run.delays


class TestOncePerKey:
    """A key that has a number keeps it, and gets no other."""

    def test_allocate_writes_and_caches_nothing_when_every_key_was_answered(
        self, environment: Environment
    ) -> None:
        """Their numbers are old: others have come after them."""
        requests = create_tickets(5)
        environment.allocate(requests)
        environment.store.fill(5)
        environment.store.blocks.clear()

        allocation = environment.allocate(requests, after=TOO_LATE)

        assert numbers(allocation) == [1, 2, 3, 4, 5]
        assert environment.store.numbers() == list(range(1, 11))
        assert len(environment.store.blocks) == 1
        assert environment.cache.head("PROJ", environment.clock) is None

    @pytest.mark.parametrize(
        "ticket", [Reason.CONFLICT, Reason.THROTTLED, Reason.INVALID]
    )
    def test_allocate_waits_for_nothing_when_every_request_was_answered_before(
        self, environment: Environment, ticket: Reason
    ) -> None:
        """The announcements of the whole batch would wait with it."""
        request = create_ticket()
        recorded = Assignment(7, request.fingerprint, "then")
        slot = Slot(ticket, Reason.CONDITION_FAILED, recorded)

        allocation = environment.allocate([request], cancelled(slot))

        assert allocation.answer_to(request) == recorded
        assert environment.time.slept == []


class TestBounds:
    """Attempts and time end: the rest goes back to the queue, with its cause."""

    @pytest.mark.parametrize(
        ("faults", "cause"),
        cases(
            {
                "taken": (lambda s: [overtaken(s, 1)] * 9, contention("taking")),
                "held": (lambda _: [held] * 9, contention("holding")),
                "unanswered": (
                    lambda _: [unanswered] * 9,
                    StoreUnavailableError("no answer"),
                ),
            }
        ),
    )
    @pytest.mark.parametrize("max_attempts", [1, 2, 5])
    def test_allocate_says_what_was_in_the_way_when_no_attempt_is_left(
        self,
        environment: Environment,
        faults: Faults,
        cause: Exception,
        max_attempts: int,
    ) -> None:
        """A request without a number always has an error, or it would count as done."""
        environment.max_attempts = max_attempts
        environment.time.left = 1e6
        requests = create_tickets(2)

        allocation = environment.allocate(requests, *faults(environment.store))

        for request in requests:
            assert repr(allocation.answer_to(request)) == repr(cause)
        assert len(environment.store.blocks) == max_attempts
        assert len(environment.time.slept) < max_attempts

    def test_allocations_share_no_error_when_collisions_do_not_end(self) -> None:
        """A raised error keeps its stack: a shared one would gather those of all."""
        errors = []
        for _ in range(2):
            environment, request = Environment(max_attempts=3), create_ticket()
            faults = [overtaken(environment.store, 1)] * 3
            allocation = environment.allocate([request], *faults)
            errors.append(allocation.answer_to(request))

        assert errors[0] is not errors[1]

    @pytest.mark.parametrize(
        ("left", "cached", "calls"),
        [(9.9, False, []), (9.9, True, []), (10.5, False, ["head"])],
        ids=["too-late", "too-late-with-a-cached-number", "used-up-by-the-read"],
    )
    def test_allocate_starts_no_call_when_time_is_below_the_reserve(
        self, environment: Environment, left: float, calls: list[str], *, cached: bool
    ) -> None:
        """The invocation may not live to see the answer."""
        if cached:
            environment.allocate([create_ticket()])
        environment.store.calls.clear()
        environment.time.left = left
        environment.store.on_read = lambda: environment.time.sleep(8.0)
        request = create_ticket()

        answer = environment.allocate([request]).answer_to(request)

        assert environment.store.calls == calls
        assert isinstance(answer, NotAttemptedError)
        assert str(answer) == "the invocation's time ran out"

    @pytest.mark.parametrize("error", [StoreRefusedError, DamagedSequenceError])
    def test_allocate_ends_when_only_an_operator_can_help(
        self, environment: Environment, error: type[Exception]
    ) -> None:
        environment.store.read_errors += [error("lasting")] * 2

        with pytest.raises(error):
            environment.allocate([create_ticket()])

        assert environment.store.calls == ["head"]
        assert environment.time.slept == []


class TestDelay:
    """An obstacle gets time; the environment has learned how much."""

    def test_delays_grow_and_decay_from_batch_to_batch_with_jitter(
        self, environment: Environment
    ) -> None:
        """A lower end of zero would try again at once, amid the contention."""
        environment.allocate(create_tickets(1), held, held)
        environment.allocate(create_tickets(1), held, after=timedelta(hours=1))

        first = BASE_DELAY_SECONDS * CONTENTION_MULTIPLIER
        second = first * CONTENTION_MULTIPLIER
        third = second * SUCCESS_DECAY * CONTENTION_MULTIPLIER
        expected = [(first / 2, first), (second / 2, second), (third / 2, third)]
        assert environment.delays == [pytest.approx(bounds) for bounds in expected]
        assert environment.time.slept == [high for _, high in environment.delays]

    def test_delays_get_shorter_when_time_runs_out(
        self, environment: Environment
    ) -> None:
        """So no worker starves, and none attempts a write below the reserve."""
        environment.time.left, environment.max_attempts = 20.0, 99

        environment.allocate(create_tickets(1), *[THROTTLED] * 99)

        first, *slept = environment.time.slept
        left = 10.0 - first
        assert slept[0] == pytest.approx(left * MAX_DELAY_SHARE)
        left -= slept[0]
        assert slept[1] == pytest.approx(left * left / SHRINKING_SECONDS)
        assert slept == sorted(slept, reverse=True)
        assert slept[-1] == MIN_DELAY_SECONDS
        assert 10.0 <= environment.time.left < 10.0 + MIN_SPARE_SECONDS
        assert len(environment.store.blocks) == len(slept) + 2

    @pytest.mark.parametrize(("share", "firsts"), [(1.0, [1, 1]), (0.99, [1])])
    def test_allocate_tries_again_only_when_time_for_a_delay_is_left(
        self, share: float, firsts: list[int]
    ) -> None:
        time = FakeTime(left=MIN_SPARE_SECONDS * share)
        environment = Environment(time=time, reserve=0.0)

        environment.allocate(create_tickets(1), held)

        assert environment.firsts == firsts
        assert len(time.slept) == len(firsts) - 1


class TestCachedNumber:
    """The number after an own block saves a read, and is trusted no further."""

    def test_allocate_reads_once_when_batches_follow_at_once(
        self, environment: Environment
    ) -> None:
        for count in (2, MAX_BLOCK_REQUESTS + 1, 2):
            environment.allocate(create_tickets(count))

        assert environment.firsts == [1, 3, 53, 54]
        assert environment.reads == 1
        environment.allocate(create_tickets(1), after=TOO_LATE)
        assert environment.reads == 2

    @pytest.mark.parametrize(
        "fault",
        cases(
            {
                "unknown": unanswered,
                "held": held,
                "throttled": THROTTLED,
                "taken": cancelled(TAKEN),
                "invalid": everywhere(ticket=Reason.INVALID),
                "refused": lambda _: BlockInvalid("ValidationException"),
            }
        ),
    )
    def test_nothing_is_cached_when_a_block_was_only_tried(
        self, environment: Environment, fault: Fault
    ) -> None:
        """Its last number may never be committed: to build on it leaves a gap."""
        environment.max_attempts = 1
        environment.store.fill(2)
        environment.allocate(create_tickets(1), fault)

        environment.allocate(create_tickets(1))

        assert (environment.reads, environment.firsts) == (2, [3, 3])


MINE = create_ticket(idempotency_key="mine", title="Mine")
ONE, OTHER = create_tickets(2)
DAMAGED = RequestKey("PROJ", "damaged")
FULL = SequenceFullError


def capped(max_number: int, key: str | None = None, **fields: str) -> CreateTicket:
    """Return a request with a cap."""
    return create_ticket(idempotency_key=key, max_number=max_number, **fields)


def rival(max_number: int, title: str = "Rival") -> CreateTicket:
    """Return a request that shares its key with others."""
    return capped(max_number, "rivals", title=title)


@dataclass(frozen=True)
class Caps:
    """Requests behind two tickets, of which the second is `MINE`, and their answers."""

    requests: list[CreateTicket]
    answers: list[int | type[Exception]]
    reads: int = 1
    """Of keys; one serves all requests that are refused together."""
    failures: int = 0
    """Reads of keys that fail."""


CAPS = cases(
    {
        "reached": Caps([capped(3) for _ in range(3)], [3, FULL, FULL]),
        "different": Caps(
            [capped(5), capped(2), capped(4), capped(5), ONE], [3, FULL, 4, 5, 6]
        ),
        "more-than-a-read-takes": Caps(
            [*[capped(2) for _ in range(MAX_KEYS_PER_READ + 1)], ONE],
            [*[FULL] * (MAX_KEYS_PER_READ + 1), 3],
            reads=2,
        ),
        # In a block of both the second would have number 4.
        "behind-a-replay": Caps([MINE, capped(3)], [2, 3], reads=0),
        "replay": Caps([capped(1, "mine", title="Mine")], [2]),
        "damaged-record": Caps([capped(2, "damaged")], [DamagedKeyRecordError]),
        "rival-next": Caps([rival(2, "Full"), rival(5), ONE, OTHER], [FULL, 3, 4, 5]),
        "rival-last": Caps([ONE, rival(2, "Full"), OTHER, rival(5)], [3, FULL, 4, 5]),
        "rival-of-two": Caps(
            [rival(2, "Full"), rival(2, "Full, too"), ONE, rival(4)], [FULL, FULL, 3, 4]
        ),
        # The key belongs to the first, for any cap of the other.
        "rival-in-front": Caps([rival(3), rival(2, "Full")], [3, 3], reads=0),
        "first-read-fails": Caps([capped(1, "mine", title="Mine")], [2], failures=1),
        "every-read-fails": Caps(
            [capped(2), ONE], [StoreUnavailableError, 3], reads=0, failures=99
        ),
    }
)


class TestCaps:
    """A request at its cap takes no number, and leaves its neighbours alone."""

    @pytest.mark.parametrize("caps", CAPS)
    def test_allocate_refuses_requests_when_their_keys_have_no_number_below_the_cap(
        self, environment: Environment, caps: Caps
    ) -> None:
        store = environment.store.fill(1)
        store.put(block_of([MINE], 2))
        store.damaged.add(DAMAGED)
        store.transactional_read_errors += [StoreUnavailableError("")] * caps.failures

        allocation = environment.allocate(caps.requests)

        answers = [*map(allocation.answer_to, caps.requests)]
        assert caps.answers == [
            answer.number if isinstance(answer, Assignment) else type(answer)
            for answer in answers
        ]
        assert store.calls.count("read_keys") == caps.reads


AS_A_WHOLE = "ValidationException"
FOR_AN_ITEM = "an item of the block is invalid"


class TestRefusedTicket:
    """A request that DynamoDB rejects fails alone; its neighbours get their numbers."""

    @pytest.mark.parametrize("why", [AS_A_WHOLE, FOR_AN_ITEM])
    @pytest.mark.parametrize("culprit", range(5))
    @pytest.mark.parametrize(
        ("size", "error"),
        [
            (MAX_ITEM_BYTES + 1, TicketTooLargeError),
            # The table is wrong, say: every message is refused, and none is poison.
            (MAX_ITEM_BYTES, StoreRefusedError),
            (2_000, StoreRefusedError),
        ],
    )
    def test_allocate_numbers_the_neighbours_when_one_ticket_is_refused(
        self,
        environment: Environment,
        size: int,
        error: type[Exception],
        culprit: int,
        why: str,
    ) -> None:
        requests = create_tickets(5)
        bad = requests[culprit] = _of_item_size(size)

        allocation = environment.allocate(requests, *[_refusal(bad, why)] * 99)

        answer = allocation.answer_to(bad)
        requests.remove(bad)
        assert type(answer) is error
        assert str(answer) == f"DynamoDB rejects the ticket: {why}"
        assert environment.store.numbers() == [1, 2, 3, 4]
        assert environment.store.keys_in_order() == keys(requests)
        assert environment.reads == 1

    @pytest.mark.parametrize("beside", [Slot(Reason.INVALID), TAKEN])
    def test_replay_is_not_written_again_when_its_block_fails_for_another_reason(
        self, environment: Environment, beside: Slot
    ) -> None:
        other, replay = create_tickets(2)
        recorded = Assignment(7, replay.fingerprint, "then")
        slot = Slot(key=Reason.CONDITION_FAILED, recorded=recorded)

        allocation = environment.allocate([other, replay], cancelled(beside, slot))

        assert allocation.answer_to(replay) == recorded
        assert [block.requests for block in environment.store.blocks[1:]] == [[other]]

    @pytest.mark.parametrize("in_order", [True, False])
    def test_rival_and_others_are_numbered_when_the_first_ticket_of_a_key_is_too_large(
        self, environment: Environment, *, in_order: bool
    ) -> None:
        """Poison never gets a number, so none overtakes it."""
        bad = _of_item_size(MAX_ITEM_BYTES + 1)
        rival = create_ticket(idempotency_key=bad.idempotency_key)
        requests = [bad, rival, create_ticket()]

        allocation = environment.allocate(
            requests, *[_refusal(bad)] * 9, in_order=in_order
        )

        assert isinstance(allocation.answer_to(bad), TicketTooLargeError)
        assert environment.store.keys_in_order() == keys(requests[1:])

    def test_none_behind_a_refused_ticket_is_numbered_when_the_order_counts(
        self, environment: Environment
    ) -> None:
        """Those before it are answered: a number, or a refusal at the cap."""
        environment.store.fill(1)
        capped = create_ticket(max_number=1)
        first, refused = create_tickets(2)
        behind = [create_ticket(), create_ticket(max_number=1)]
        rival = create_ticket(idempotency_key=refused.idempotency_key, title="Another")

        allocation = environment.allocate(
            [capped, first, refused, *behind, rival],
            *[_refusal(refused)] * 9,
            in_order=True,
        )

        assert isinstance(allocation.answer_to(capped), SequenceFullError)
        assert type(allocation.answer_to(refused)) is StoreRefusedError
        for request in (*behind, rival):
            answer = allocation.answer_to(request)
            assert isinstance(answer, NotAttemptedError)
            assert str(answer) == "an earlier request of the project failed"
        assert environment.store.keys_in_order()[1:] == [first.idempotency_key]

    def test_allocate_halves_blocks_until_the_offender_is_gone(
        self, environment: Environment
    ) -> None:
        requests = create_tickets(MAX_BLOCK_REQUESTS * 2)

        environment.allocate(requests, *[_refusal(requests[0])] * 99)

        tried = [len(block.requests) for block in environment.store.blocks]
        assert tried == [50, 25, 12, 6, 3, 1, 50, 49]
        assert environment.store.numbers() == list(range(1, MAX_BLOCK_REQUESTS * 2))

    def test_allocate_lets_a_throttled_block_grow_when_blocks_are_committed(
        self, environment: Environment
    ) -> None:
        environment.allocate(create_tickets(80), THROTTLED, THROTTLED)

        tried = [len(block.requests) for block in environment.store.blocks]
        assert tried == [50, 25, 12, 13, 14, 15, 16, 10]


def _of_item_size(size: int) -> CreateTicket:
    """Return a request for which an item of this size is expected."""
    empty = create_ticket(description="")
    room = size - REQUEST_OVERHEAD_BYTES - empty.size
    # No parsed body is that large, so the description is put in afterwards.
    fields = empty.model_dump() | {"description": "d" * room}
    return CreateTicket.model_construct(**fields)


def _refusal(offender: CreateTicket, why: str = FOR_AN_ITEM) -> Fault:
    """Refuse any block with the offender."""

    def fault(block: Block) -> Cancelled | BlockInvalid | None:
        if offender not in block.requests:
            return None
        if why == AS_A_WHOLE:
            return BlockInvalid(why)
        invalid = Slot(Reason.INVALID)
        return Cancelled(
            [invalid if request is offender else FREE for request in block.requests]
        )

    return fault
