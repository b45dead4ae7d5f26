"""The algorithm: a project's highest sort key plus one, written in a transaction.

Why it is gapless: a number is tried only after its predecessor was *seen committed*
(by the query, by a failed condition on it, or by our own success), blocks are
contiguous and atomic, and tickets are never deleted.
Why a request has one number for ever: its idempotency key is put, if it does not
exist, in the very transaction that puts its ticket.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, assert_never

from ticket_numbering.cancellation import number_past_taken, reason_to_wait
from ticket_numbering.errors import (
    NotAttemptedError,
    SequenceContentionError,
    StoreUnavailableError,
    TicketTooLargeError,
    TransientError,
)
from ticket_numbering.memory import CALM_PAUSE_SECONDS, Memory, ProjectMemory
from ticket_numbering.messages import CreateTicket, RequestKey
from ticket_numbering.ports import (
    MAX_BLOCK_REQUESTS,
    Assignment,
    Block,
    Cancelled,
    Committed,
    Reason,
    Refused,
    Slot,
    TicketStore,
    fitting,
    is_too_large,
)

LONGEST_SHARE: Final = 1 / 3
"""Of the time that is left, for one pause.

Tries come closer together as the time runs out, so that nobody starves.
"""

EAGER_COLLISIONS: Final = 2
"""Collisions in a row that are answered at once with the incremented number.

After that the worker waits and reads: many workers that increment in step would
collide on every number, and a cancelled write costs more than a read.
"""

COLLIDED: Final = "others kept taking the next number"


@dataclass(frozen=True, slots=True)
class Allocation:
    """What one project's share of a batch came to."""

    answers: Mapping[RequestKey, Assignment | Exception]
    attempts: Sequence[int] = ()
    """Tries of each committed block."""
    collisions: int = 0
    """Blocks cancelled because a number was taken."""
    conflicts: int = 0
    """Blocks cancelled because somebody held an item."""


@dataclass(frozen=True, slots=True)
class Allocator:
    """Allocates numbers over a store, within limits of tries and time."""

    store: TicketStore
    max_attempts: int
    deadline_reserve: float
    """Seconds of the invocation's time that must be left for a new attempt."""
    memory: Memory = field(default_factory=Memory)
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[float, float], float] = random.uniform
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def start(
        self,
        project_id: str,
        requests: Sequence[CreateTicket],
        time_left: Callable[[], float],
    ) -> "AllocationRun":
        """Return an allocation that gives each request its number, in the order given.

        Args:
            project_id: The project of every request.
            requests: Requests with distinct keys.
            time_left: Seconds left of the invocation.
        """
        memory = self.memory.of(project_id)
        return AllocationRun(
            self,
            project_id,
            list(requests),
            time_left,
            memory,
            next_number=memory.next_number(self.now()),
        )


@dataclass(slots=True)
class AllocationRun:
    """One allocation on its way; what it has learned outlasts an error."""

    limits: Allocator
    project_id: str
    pending: list[CreateTicket]
    time_left: Callable[[], float]
    memory: ProjectMemory

    next_number: int | None = None  # None: to be read.
    block_limit: int = MAX_BLOCK_REQUESTS
    tries: int = 0  # Since the last progress.
    pause: float | None = None  # Due before the next try.
    obstacle: Exception = field(
        default_factory=lambda: NotAttemptedError("the invocation's time ran out")
    )

    answers: dict[RequestKey, Assignment | Exception] = field(default_factory=dict)
    attempts: list[int] = field(default_factory=list)
    collisions: int = 0
    conflicts: int = 0

    def work(self) -> None:
        """Try until every request is answered, or the tries or the time run out.

        Raises:
            Exception: The store failed in a way that trying again does not mend.
        """
        while (pause := self.advance()) is not None:
            self.limits.sleep(pause)

    def advance(self) -> float | None:
        """Try until it is over, or has to pause for the seconds that are returned.

        Raises:
            Exception: The store failed in a way that trying again does not mend.
        """
        while self.pending and self._in_time() and self._may_try():
            try:
                self._try()
            except StoreUnavailableError as error:
                self._step_back(error)
            pause, self.pause = self.pause, None
            if pause is not None:
                return pause
        return None

    def result(self, error: Exception | None = None) -> Allocation:
        """Return the answers; what is pending failed for the error, if one is given."""
        failed = {request.key: error or self.obstacle for request in self.pending}
        return Allocation(
            self.answers | failed, self.attempts, self.collisions, self.conflicts
        )

    def _in_time(self) -> bool:
        return self.time_left() >= self.limits.deadline_reserve

    def _may_try(self) -> bool:
        return self.tries < self.limits.max_attempts

    def _try(self) -> None:
        self.tries += 1
        if self.next_number is None:
            self.next_number = self.limits.store.last_number(self.project_id) + 1
            if not self._in_time():
                return
        block = self._block(self.next_number)
        outcome = self.limits.store.write_block(block)
        match outcome:
            case Committed():
                self._advance(block)
            case Cancelled(slots):
                self._learn(block, slots)
            case Refused(why):
                self._split(block, why)
            case _:
                assert_never(outcome)

    def _block(self, first_number: int) -> Block:
        stamp = self.limits.now().isoformat(timespec="milliseconds")
        return Block(
            self.project_id,
            first_number,
            assigned_at=stamp.replace("+00:00", "Z"),
            requests=fitting(self.pending[: self.block_limit]),
        )

    def _advance(self, block: Block) -> None:
        self.attempts.append(self.tries)
        self._settle(block.assignments())
        self.next_number = block.first_number + len(block.requests)
        self.memory.committed(self.next_number, self.limits.now())

    def _settle(self, answers: Mapping[RequestKey, Assignment | Exception]) -> None:
        self.answers |= answers
        self.pending = [each for each in self.pending if each.key not in answers]
        self.tries = 0

    def _learn(self, block: Block, slots: Sequence[Slot]) -> None:
        """Decide by every reason of a cancelled block what the next try is."""
        known = {
            request.key: slot.recorded
            for request, slot in zip(block.requests, slots, strict=True)
            if slot.recorded is not None
        }
        if known:
            self._settle(known)
        collided = self._move_past_taken(block, slots)
        reasons = {slot.ticket for slot in slots} | {slot.key for slot in slots}
        if any(slot.is_invalid for slot in slots):
            self._split(block, "an item of the block is invalid")
        elif error := reason_to_wait(reasons):
            self.conflicts += Reason.CONFLICT in reasons
            self._step_back(error)
        elif collided and self.tries > EAGER_COLLISIONS:
            self._step_back(SequenceContentionError(COLLIDED))

    def _move_past_taken(self, block: Block, slots: Sequence[Slot]) -> bool:
        if not any(slot.is_taken for slot in slots):
            return False
        self.collisions += 1
        self.obstacle = SequenceContentionError(COLLIDED)
        self.next_number = number_past_taken(block, slots)
        return True

    def _split(self, block: Block, why: str) -> None:
        """Try less at once; what is refused alone fails alone, as poison if too large.

        DynamoDB refuses a sound ticket too, where a table has another key, say.
        """
        if len(block.requests) == 1:
            [request] = block.requests
            kind = (
                TicketTooLargeError if is_too_large(request) else StoreUnavailableError
            )
            error = kind(f"DynamoDB refuses the ticket: {why}")
            self._settle({request.key: error})
            self.block_limit = MAX_BLOCK_REQUESTS
        else:
            self.block_limit = len(block.requests) // 2

    def _step_back(self, error: TransientError) -> None:
        """Pause for a random time, unless no try or no time is left to wait for."""
        self.obstacle = error
        # Others go on meanwhile: a read costs less than a number that is taken.
        self.next_number = None
        ceiling = self.memory.set_back(error)
        spare = self.time_left() - self.limits.deadline_reserve
        if spare < CALM_PAUSE_SECONDS or not self._may_try():
            self.tries = self.limits.max_attempts
            return
        ceiling = min(ceiling, spare * LONGEST_SHARE)
        self.pause = self.limits.jitter(ceiling / 2, ceiling)
