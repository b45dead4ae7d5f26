"""The algorithm: a project's highest sort key plus one, written in a transaction.

Why it is gapless: a number is tried only after its predecessor was *seen committed*
(by the query, by a failed condition on it, or by our own success), blocks are
contiguous and atomic, and tickets are never deleted.
Why a request has one number for ever: its idempotency key is put, if it does not
exist, in the very transaction that puts its ticket.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Final, assert_never

from ticket_numbering.allocation.backoff import Backoff
from ticket_numbering.allocation.block import (
    MAX_BLOCK_REQUESTS,
    Block,
    is_too_large,
    take_block,
)
from ticket_numbering.allocation.cancellation import (
    BackOff,
    NextStep,
    ReadAgain,
    Split,
    TryAt,
    next_step,
)
from ticket_numbering.allocation.sequence_cache import SequenceCache
from ticket_numbering.allocation.store import (
    MAX_KEYS_PER_READ,
    Cancelled,
    Committed,
    Refused,
    Slot,
    TicketStore,
)
from ticket_numbering.contract.errors import (
    DamagedSequenceError,
    NotAttemptedError,
    SequenceContentionError,
    SequenceFullError,
    StoreRefusedError,
    TicketNumberingError,
    TicketTooLargeError,
    TransientError,
)
from ticket_numbering.contract.messages import (
    Assignment,
    CreateTicket,
    RequestIdentity,
    RequestKey,
)

TimeLeft = Callable[[], float]
"""Returns the seconds that are left of the invocation."""

MAX_DELAY_SHARE: Final = 1 / 3
"""Of the time that is left, for one delay.

Attempts come closer together as the time runs out, so that no batch starves.
"""

MIN_SPARE_SECONDS: Final = 0.04
"""With less time above the reserve another attempt is not worth a delay."""

IMMEDIATE_RETRIES: Final = 2
"""Collisions in a row after which the incremented number is tried at once.

After that the worker backs off and reads: many workers that increment in step would
collide on every number, and a cancelled write costs more than a read.
"""

LASTING: Final = (StoreRefusedError, DamagedSequenceError)
"""An operator must act: no other attempt of this invocation can succeed."""

TAKEN: Final = "others kept taking the next number"


@dataclass(slots=True)
class Allocation:
    """Progress of one project's requests in a batch."""

    project_id: str
    pending: list[CreateTicket]
    """In the order of sending, each once; different ones can share a key."""
    next_number: int | None = None
    """None: to be read."""
    block_limit: int = MAX_BLOCK_REQUESTS
    attempts: int = 0
    """Since the last progress."""
    last_error: Exception = field(
        default_factory=lambda: NotAttemptedError("the invocation's time ran out")
    )
    assigned: dict[RequestKey, Assignment] = field(default_factory=dict)
    """The numbers that this allocation committed."""
    recorded: dict[RequestKey, Assignment | TransientError] = field(
        default_factory=dict
    )
    """The number recorded before, or why no request of the key can have one now."""
    refused: dict[RequestIdentity, TicketNumberingError] = field(default_factory=dict)
    """Requests that left the next request of their key a chance."""
    attempts_per_block: list[int] = field(default_factory=list)
    collisions: int = 0
    """Blocks cancelled because a number was taken."""
    conflicts: int = 0
    """Blocks cancelled because another transaction held an item."""

    def answer_to(self, request: CreateTicket) -> Assignment | Exception:
        """Return the answer to a request; a pending one has failed.

        The number of an equal request beats a refusal.
        """
        answer = self.assigned.get(request.key) or self.recorded.get(request.key)
        if isinstance(answer, Assignment) and request.matches(answer.fingerprint):
            return answer
        return self.refused.get(request.identity) or answer or self.last_error

    def refusable(self, next_number: int) -> list[CreateTicket]:
        """Return requests whose cap is reached and that must not wait any longer.

        Either no pending request accepts the next number, or one of the same key does
        and waits behind them. The number before the next one is committed, always.

        Returns:
            The requests of at most `MAX_KEYS_PER_READ` keys.
        """
        accepting: set[RequestKey] = set()
        full: dict[RequestKey, list[CreateTicket]] = defaultdict(list)
        for request in self.pending:
            if request.accepts(next_number):
                accepting.add(request.key)
            elif request.key not in accepting:
                full[request.key].append(request)
        due = [
            requests
            for key, requests in full.items()
            if not accepting or key in accepting
        ]
        return [*chain.from_iterable(due[:MAX_KEYS_PER_READ])]

    def block(self, first_number: int, assigned_at: str) -> Block:
        """Return the next block to write: of each key, only its first request."""
        first: dict[RequestKey, CreateTicket] = {}
        for request in self.pending:
            first.setdefault(request.key, request)
        accepting = [one for one in first.values() if one.accepts(first_number)]
        requests = take_block(accepting[: self.block_limit], first_number)
        return Block(self.project_id, first_number, assigned_at, requests)

    def commit(self, block: Block) -> None:
        """Take over the numbers of a committed block."""
        self.attempts_per_block.append(self.attempts)
        self.next_number = block.next_number
        self.assigned |= block.assignments()
        self._progress()

    def answer(self, answers: Mapping[RequestKey, Assignment | TransientError]) -> None:
        """Take out every request of these keys."""
        self.recorded |= answers
        self._progress()

    def refuse(self, errors: Mapping[RequestIdentity, TicketNumberingError]) -> None:
        """Take out these requests, and leave the others of their keys."""
        self.refused |= errors
        self._progress()

    def split(self, block: Block, reason: str) -> None:
        """Halve the block; fail a request that DynamoDB refuses on its own.

        It is poison if it is too large. DynamoDB refuses a sound ticket too, if a
        table has another key, for example.
        """
        if len(block.requests) > 1:
            self.block_limit = len(block.requests) // 2
            return
        [request] = block.requests
        problem = f"DynamoDB refuses the ticket: {reason}"
        if is_too_large(request):
            self.refuse({request.identity: TicketTooLargeError(problem)})
        else:
            self.answer({request.key: StoreRefusedError(problem)})
        self.block_limit = MAX_BLOCK_REQUESTS

    def _progress(self) -> None:
        answered = self.assigned.keys() | self.recorded.keys()
        self.pending = [
            request
            for request in self.pending
            if request.key not in answered and request.identity not in self.refused
        ]
        self.attempts = 0


@dataclass(frozen=True, slots=True)
class Allocator:
    """Allocates numbers over a store, within limits of attempts and time."""

    store: TicketStore
    max_attempts: int
    deadline_reserve: float
    """Seconds of the invocation's time that must be left for a new attempt."""
    cache: SequenceCache = field(default_factory=SequenceCache)
    backoff: Backoff = field(default_factory=Backoff)
    jitter: Callable[[float, float], float] = random.uniform
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    decide: Callable[[Block, Sequence[Slot]], NextStep] = next_step

    def start(self, project_id: str, requests: Sequence[CreateTicket]) -> Allocation:
        """Return an allocation of a number to each key, in the order given.

        Args:
            project_id: The project of every request.
            requests: Different requests; of those that share a key the first gets
                the number, unless it is refused.
        """
        cached = self.cache.next_number(project_id, self.now())
        return Allocation(project_id, list(requests), cached)

    def advance(self, allocation: Allocation, time_left: TimeLeft) -> float | None:
        """Attempt until all is answered, or a delay is due, or no attempt is left.

        Returns:
            The seconds to wait before the next call; None if there is none.

        Raises:
            Exception: The store failed in a way that a retry does not fix.
        """
        while (
            allocation.pending
            and allocation.attempts < self.max_attempts
            and self._in_time(time_left)
        ):
            try:
                obstacle = self._attempt(allocation, time_left)
            except LASTING:
                raise
            except TransientError as error:
                # The outcome is unknown: read, and let the key puts answer.
                allocation.next_number = None
                obstacle = error
            if obstacle is not None:
                delay = self._back_off(allocation, obstacle, time_left)
                # After a block of replays nothing may be left to wait for.
                return delay if allocation.pending else None
        return None

    def _in_time(self, time_left: TimeLeft) -> bool:
        return time_left() >= self.deadline_reserve

    def _attempt(
        self, allocation: Allocation, time_left: TimeLeft
    ) -> TransientError | None:
        """Write the next block; return the reason to back off, if there is one."""
        allocation.attempts += 1
        if allocation.next_number is None:
            last = self.store.last_number(allocation.project_id)
            allocation.next_number = last + 1
            if not self._in_time(time_left):
                return None
        if refusable := allocation.refusable(allocation.next_number):
            self._refuse(allocation, refusable)
            return None
        stamp = self.now().isoformat(timespec="milliseconds")
        block = allocation.block(allocation.next_number, stamp.replace("+00:00", "Z"))
        outcome = self.store.write_block(block)
        match outcome:
            case Committed():
                self._commit(allocation, block)
            case Cancelled(slots):
                return self._apply(allocation, block, self.decide(block, slots))
            case Refused(reason):
                allocation.split(block, reason)
            case _:
                assert_never(outcome)
        return None

    def _refuse(self, allocation: Allocation, requests: Iterable[CreateTicket]) -> None:
        """Answer requests whose cap the committed numbers have reached.

        One that got its number before keeps it, under any cap.
        """
        keys = [*dict.fromkeys(request.key for request in requests)]
        recorded = self.store.read_keys_in_transaction(keys)
        allocation.answer(recorded)
        allocation.refuse(
            {
                request.identity: SequenceFullError(
                    f"max_number: {request.project_id} has reached {request.cap}"
                )
                for request in requests
                if request.key not in recorded
            }
        )

    def _commit(self, allocation: Allocation, block: Block) -> None:
        allocation.commit(block)
        self.cache.committed(allocation.project_id, block.next_number, self.now())
        self.backoff.decay(allocation.project_id)

    def _apply(
        self, allocation: Allocation, block: Block, step: NextStep
    ) -> TransientError | None:
        if step.answers:
            allocation.answer(step.answers)
        if step.collided:
            allocation.collisions += 1
            allocation.last_error = SequenceContentionError(TAKEN)
        allocation.next_number = None
        match step.action:
            case Split():
                allocation.next_number = block.first_number
                allocation.split(block, "an item of the block is invalid")
            case BackOff(error):
                allocation.conflicts += step.conflicted
                return error
            case _ if step.collided and allocation.attempts > IMMEDIATE_RETRIES:
                return SequenceContentionError(TAKEN)
            case TryAt(number):
                allocation.next_number = number
            case ReadAgain():
                pass
            case _:
                assert_never(step.action)
        return None

    def _back_off(
        self, allocation: Allocation, error: TransientError, time_left: TimeLeft
    ) -> float | None:
        """Return a random delay, or None if no attempt or no time is left for one."""
        allocation.last_error = error
        delay = self.backoff.grow(allocation.project_id, error)
        spare = time_left() - self.deadline_reserve
        if spare < MIN_SPARE_SECONDS or allocation.attempts >= self.max_attempts:
            return None
        longest = min(delay, spare * MAX_DELAY_SHARE)
        return self.jitter(longest / 2, longest)
