"""The algorithm: a project's highest sort key plus one, written in a transaction.

Why it is gapless: a number is tried only after its predecessor was *seen committed*
(by the query, by a failed condition on it, or by the worker's own commit), blocks are
contiguous and atomic, and tickets are never deleted.
Why a request has one number for ever: one transaction puts its ticket and its
idempotency key, if the key does not exist.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, assert_never

from ticket_numbering.allocation.backoff import MIN_DELAY_SECONDS, Backoff
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.cancellation import TAKEN, NextStep, next_step
from ticket_numbering.allocation.line import Line
from ticket_numbering.allocation.progress import Progress
from ticket_numbering.allocation.sequence_cache import SequenceCache
from ticket_numbering.allocation.store import (
    BlockInvalid,
    Cancelled,
    Committed,
    Slot,
    TicketStore,
)
from ticket_numbering.contract.chain import new_salt
from ticket_numbering.contract.errors import (
    DamagedSequenceError,
    SequenceContentionError,
    SequenceFullError,
    StoreRefusedError,
    StoreThrottledError,
    TransientError,
)
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.contract.time_left import TimeLeft

MAX_DELAY_SHARE: Final = 1 / 3
"""The share of the remaining time that one delay may take."""

SHRINKING_SECONDS: Final = 20.0
"""Divides the remaining time; the share of a delay is at most the quotient, too.

So attempts come closer together as the time runs out, and no batch starves.
"""

MIN_SPARE_SECONDS: Final = 0.04
"""With less time before the deadline reserve a delay leaves no time for an attempt."""

IN_LINE_DELAY_SECONDS: Final = (0.002, 0.008)
"""The bounds of a delay after a conflict in line.

It is short, because a conflict is reported only when the other transaction ends.
"""

LASTING: Final = (StoreRefusedError, DamagedSequenceError)
"""Only an operator can fix these: no other attempt of the invocation can succeed."""


@dataclass(frozen=True, slots=True)
class Allocator:
    """Allocates numbers over a store, within limits of attempts and time."""

    store: TicketStore
    max_attempts: int
    deadline_reserve: float
    """The seconds of the invocation that must remain for a new attempt."""
    cache: SequenceCache = field(default_factory=SequenceCache)
    backoff: Backoff = field(default_factory=Backoff)
    jitter: Callable[[float, float], float] = random.uniform
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    decide: Callable[[Block, Sequence[Slot], int], NextStep] = next_step
    salt: Callable[[], str] = new_salt
    line: Line | None = None
    """Where workers of a contended project queue; without it they back off alone."""

    def start(self, project_id: str, requests: Sequence[CreateTicket]) -> Progress:
        """Return the progress of these requests, which get numbers in this order.

        If different requests share a key, the first gets the number, unless it is
        refused.
        """
        cached = self.cache.head(project_id, self.now())
        return Progress(project_id, list(requests), cached)

    def advance(self, progress: Progress, time_left: TimeLeft) -> float | None:
        """Attempt until all requests are settled, a delay is due, or attempts run out.

        Returns:
            The seconds to wait before the next call; None if no call must follow.

        Raises:
            Exception: The store failed, and a retry cannot help.
        """
        while self._goes_on(progress, time_left):
            try:
                if delay := self._queue(progress, time_left):
                    return delay
                if not self._goes_on(progress, time_left):
                    break
                obstacle = self._attempt(progress, time_left)
            except LASTING:
                raise
            except TransientError as error:
                # The outcome is unknown: read, and let the conditions on keys answer.
                progress.head = None
                obstacle = error
            if obstacle is not None:
                delay = self._back_off(progress, obstacle, time_left)
                # After a block of replays nothing may be left to wait for.
                return delay if progress.pending else None
        if self.line:
            self.line.leave(progress)
        return None

    def _goes_on(self, progress: Progress, time_left: TimeLeft) -> bool:
        return (
            bool(progress.pending)
            and progress.attempts < self.max_attempts
            and self._in_time(time_left)
        )

    def _queue(self, progress: Progress, time_left: TimeLeft) -> float | None:
        """Return the seconds to wait in line, if the project has one."""
        if not self.line:
            return None
        spare = time_left() - self.deadline_reserve
        delay = self.line.wait(progress, self.store, spare)
        longest = max(MIN_DELAY_SECONDS, spare * MAX_DELAY_SHARE)
        return None if delay is None else min(delay, longest)

    def _in_time(self, time_left: TimeLeft) -> bool:
        return time_left() >= self.deadline_reserve

    def _attempt(
        self, progress: Progress, time_left: TimeLeft
    ) -> TransientError | None:
        """Write the next block; return the reason to back off, if there is one."""
        progress.attempts += 1
        if progress.head is None:
            progress.head = self.store.head(progress.project_id)
            if not self._in_time(time_left):
                return None
        began = self.line.clock() if self.line else 0.0
        if refusable := progress.refusable(progress.head.next_number):
            self._refuse(progress, refusable)
            return None
        block = progress.block(progress.head, self.now(), self.salt)
        outcome = self.store.write_block(block)
        match outcome:
            case Committed():
                progress.commit(block)
                self.cache.committed(progress.project_id, block.last, self.now())
                self.backoff.decay(progress.project_id)
                if self.line:
                    self.line.committed(progress, block, began)
            case Cancelled(slots):
                step = self.decide(block, slots, progress.attempts)
                return self._apply(progress, block, step)
            case BlockInvalid(reason):
                progress.split(block, reason)
            case _:
                assert_never(outcome)
        return None

    def _refuse(self, progress: Progress, requests: Iterable[CreateTicket]) -> None:
        """Refuse requests whose cap the committed numbers have reached.

        A request that already has a number keeps it, under any cap.
        """
        keys = [*dict.fromkeys(request.key for request in requests)]
        recorded = self.store.read_keys_in_transaction(keys)
        progress.settle(recorded)
        progress.settle_requests(
            {
                request.identity: SequenceFullError(
                    f"max_number: {request.project_id} has reached {request.cap}"
                )
                for request in requests
                if request.key not in recorded
            }
        )

    def _apply(
        self, progress: Progress, block: Block, step: NextStep
    ) -> TransientError | None:
        if self.line and (step.collided or step.conflicted):
            self.line.contended(progress.project_id)
        if self.line and step.answers:
            self.line.repeated(progress.project_id)
        if step.answers:
            progress.settle(step.answers)
        if step.collided:
            progress.collisions += 1
            progress.last_error = SequenceContentionError(TAKEN)
        progress.conflicts += step.conflicted
        progress.head = step.head
        if step.splits:
            progress.split(block, "an item of the block is invalid")
        if isinstance(step.error, StoreThrottledError):
            # Together its items may be more than the partition ever takes at once.
            progress.block_limit = max(1, len(block.requests) // 2)
        return step.error

    def _back_off(
        self, progress: Progress, error: TransientError, time_left: TimeLeft
    ) -> float | None:
        """Return a random delay, or None if no attempt or no time is left for one."""
        progress.last_error = error
        is_contended = type(error) is SequenceContentionError
        if is_contended and self.line and self.line.is_open(progress):
            self.line.blocked(progress)
            if progress.attempts < self.max_attempts:
                return self.jitter(*IN_LINE_DELAY_SECONDS)
        if self.line and isinstance(error, StoreThrottledError):
            progress.wait.end()  # In line it would read, and use units as well.
            self.line.leave(progress)
        delay = self.backoff.grow(progress.project_id, error)
        spare = time_left() - self.deadline_reserve
        if spare < MIN_SPARE_SECONDS or progress.attempts >= self.max_attempts:
            return None
        share = min(MAX_DELAY_SHARE, spare / SHRINKING_SECONDS)
        longest = min(delay, max(MIN_DELAY_SECONDS, spare * share))
        return self.jitter(longest / 2, longest)
