"""The line: a queue in which the workers of a contended project write in turn.

The read head and the conditions of the transaction decide a number. A
line that is wrong, stale, missing or forged only costs time, within bounds:
if the head does not move for some of the shortest blocks, the waiting workers write,
the nearest first, and only a success gives up the numbers that it has passed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from random import uniform
from time import monotonic
from typing import Final

from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.place import (
    CLOSED_SECONDS,
    MAX_DELAY_SECONDS,
    LineStore,
    Place,
    View,
    Wait,
)
from ticket_numbering.allocation.progress import Progress
from ticket_numbering.allocation.store import MAX_KEYS_PER_READ, TicketStore
from ticket_numbering.contract.errors import StoreRefusedError, TransientError

CONTENDED_SECONDS: Final = 10.0
"""The time without others after which a project counts as uncontended."""

REPEATED_SECONDS: Final = 60.0
"""The time after a replay in which keys are looked up before a place is taken."""

MAX_FAILURES: Final = 2
"""The consecutive failures of the line that close it."""

MAX_WAIT_SHARE: Final = 1 / 2
"""The share of the remaining time for all waits of a project in a batch."""

USUAL_SECONDS: Final = 0.025
"""The assumed time of a block before the first own one."""

LEAST_SECONDS: Final = 0.005
"""The minimal time of a block, so that waiting workers pause between reads."""

GROWTH: Final = 1.1
"""The growth of the shortest time of a block with each slower one."""

# In units of the shortest block:
POLL: Final = 0.3
"""The delay between two reads of the head, for the next in line."""
REST: Final = 0.6
"""The delay after a move of the head, before the next read."""
PACE: Final = 1.2
"""The delay for each block in front, except the current one."""
DECIDED: Final = 1.5
"""The time until a conflicting transaction is decided."""

MAX_PROJECTS: Final = 1_000
"""Bounds the memory; one more project resets all to uncontended."""


@dataclass(slots=True)
class Line:
    """Queues the blocks of contended projects, for one execution environment."""

    store: LineStore
    clock: Callable[[], float] = monotonic
    jitter: Callable[[float, float], float] = uniform
    views: dict[str, View] = field(default_factory=dict)
    closed_until: float = -inf
    failures: int = 0
    """The consecutive failures of the line's store."""
    block: float = USUAL_SECONDS
    """The approximate shortest time of a block."""

    def wait(
        self, progress: Progress, tickets: TicketStore, spare: float
    ) -> float | None:
        """Return the seconds to wait in line; None to write now.

        Args:
            progress: The requests; when their turn has come it has the head.
            tickets: The store of the head and of earlier answers.
            spare: The seconds that the allocation has left.

        Raises:
            Exception: Earlier answers could not be read.
        """
        wait = progress.wait
        if wait.until == inf:
            wait.until = self.clock() + spare * MAX_WAIT_SHARE
        delay: float | None = 0.0
        while delay == 0.0:
            if not self.is_open(progress):
                self.leave(progress)
                return None
            delay = self._step(progress, tickets)
        if delay is not None:
            progress.head = None
            wait.seconds += delay
        return delay

    def is_open(self, progress: Progress) -> bool:
        """Tell whether the requests queue, because others write the project."""
        view, now = self._view(progress.project_id), self.clock()
        closed_until = max(self.closed_until, view.closed_until)
        return closed_until <= now < min(view.contended_until, progress.wait.until)

    def contended(self, project_id: str) -> None:
        """Record that another worker writes the project."""
        self._view(project_id).contended_until = self.clock() + CONTENDED_SECONDS

    def repeated(self, project_id: str) -> None:
        """Record that requests of the project are repeated."""
        self._view(project_id).repeated_until = self.clock() + REPEATED_SECONDS

    def blocked(self, progress: Progress) -> None:
        """Record that a write failed because of another worker."""
        view, wait = self._view(progress.project_id), progress.wait
        now = self.clock()
        if wait.place and view.head >= wait.place.turn:
            view.strike(now)
        # Another worker may have passed the same places: ask for given-up numbers.
        wait.known = -inf, view.head
        wait.is_blocked, view.moved_at = True, now

    def committed(self, progress: Progress, block: Block, began: float) -> None:
        """Record an own block; give up the numbers that it passed or did not need.

        Args:
            progress: The requests, without those of the block.
            block: The block.
            began: The start of its transaction.
        """
        head, last = block.head.number, block.last.number
        view, now = self._view(progress.project_id), self.clock()
        self.block = max(LEAST_SECONDS, min(now - began, self.block * GROWTH))
        view.saw(last, now)
        view.wrote(last - head)
        if not (place := progress.wait.place):
            return
        view.strikes = 0
        passed = max(0, place.turn - head)
        unused = max(0, place.end - passed - last)
        if progress.pending and unused:
            given_up = self._give_up(progress, place.given_up, passed)
            progress.wait.place = Place(last, last + unused, given_up)
        else:
            progress.wait.place = None
            self._give_up(progress, place.given_up, passed + unused)

    def leave(self, progress: Progress) -> None:
        """Give the place up, if there is one."""
        if place := progress.wait.place:
            progress.wait.place = None
            self._give_up(progress, place.given_up, place.size)

    def _step(self, progress: Progress, tickets: TicketStore) -> float | None:
        """Take a place, or read the head; return the seconds to the next step."""
        view = self._view(progress.project_id)
        if progress.wait.place is None:
            if view.repeated_until > self.clock():
                self._look_up(progress, tickets)
            if progress.head:
                view.saw(progress.head.number, self.clock())
            count = len(progress.numberable(view.head + 1))
            return self._take(progress, view, count) if count else None
        if progress.head is None:
            try:
                progress.head = tickets.head(progress.project_id)
            except Exception:  # noqa: BLE001 - the attempt reads again, and raises.
                progress.wait.end()
                return 0.0
        return self._turn(progress, view, progress.head.number)

    def _look_up(self, progress: Progress, tickets: TicketStore) -> None:
        """Look up earlier answers, so that their requests take no place."""
        keys = [*dict.fromkeys(request.key for request in progress.pending)]
        if recorded := tickets.read_keys(keys[:MAX_KEYS_PER_READ]):
            self.repeated(progress.project_id)
            progress.settle(recorded)

    def _take(self, progress: Progress, view: View, count: int) -> float:
        """Take a place; return the seconds until the next read of the head."""
        wait = progress.wait
        try:
            place = self.store.take(progress.project_id, view.head, count)
        except TransientError as error:
            self._failed(wait, error)
            wait.end()
            return 0.0
        self.failures, now = 0, self.clock()
        wait.begin(place, view.head, now, self.jitter(0.0, 1.0))
        if place.turn > view.head:
            progress.head = None
        age = now - view.seen_at
        if age > MAX_DELAY_SECONDS:
            return 0.0
        return max(0.0, self._seconds_to(view, place.turn - view.head, count) - age)

    def _turn(self, progress: Progress, view: View, head: int) -> float | None:
        """Return the seconds until the next read of the head; None to write now."""
        wait, now, before = progress.wait, self.clock(), view.seen_at
        rest = 0.0
        if moved := view.saw(head, now):
            self.contended(progress.project_id)
            wait.is_blocked = False
            rest = REST * self.block - (now - before) / 2
        place = self._corrected(progress, head, now, moved=moved)
        if head >= place.end:  # Others took the place's numbers.
            view.strike(now)
            wait.place = None
            return 0.0
        still = now - view.moved_at
        if head >= place.turn:
            is_due = still >= DECIDED * self.block or not wait.is_blocked
            return None if is_due else POLL * self.block
        left = wait.patience(place.turn - head, self.block) - still
        if left <= 0:
            return None
        if wait.is_vain(head, now, self.block):
            wait.taken = now, head
            if now < view.doubted_until:
                view.closed_until = now + CLOSED_SECONDS
                return 0.0
            view.doubted_until = now + CLOSED_SECONDS
            return None
        seconds = self._seconds_to(view, place.turn - head, place.size)
        slower = (still - DECIDED * self.block) / 3
        delay = max(POLL * self.block, rest, seconds, slower)
        return min(delay, left + self.jitter(0.0, POLL * self.block))

    def _corrected(
        self, progress: Progress, head: int, now: float, *, moved: bool
    ) -> Place:
        """Return the place, corrected for numbers that others gave up in front."""
        wait = progress.wait
        place = wait.place or Place(head, head + 1, 0)
        if head < place.turn and wait.should_ask(head, now, self.block, moved=moved):
            less = self._ask(progress, place.given_up) - place.given_up
            if less > 0:
                turn, end = place.turn - less, place.end - less
                wait.place = place = Place(turn, end, place.given_up + less)
        return place

    def _give_up(self, progress: Progress, known: int, count: int) -> int:
        """Give up numbers that others have not; return the total ever given up."""
        while count > 0 and (now := self._ask(progress, known, count)) > known:
            known, count = now, count - (now - known)
        return known

    def _ask(self, progress: Progress, known: int, count: int = 0) -> int:
        try:
            given_up = self.store.give_up(progress.project_id, known, count)
        except TransientError as error:
            self._failed(progress.wait, error)
            return known
        self.failures = 0
        return given_up

    def _failed(self, wait: Wait, error: TransientError) -> None:
        """Close the line if AWS rejects it, or after consecutive failures."""
        wait.failures += 1
        self.failures += 1
        if self.failures >= MAX_FAILURES or isinstance(error, StoreRefusedError):
            self.closed_until = self.clock() + CLOSED_SECONDS

    def _seconds_to(self, view: View, gap: int, count: int) -> float:
        """Return the estimated seconds until the preceding block is written."""
        blocks = max(0.0, gap / max(view.usual_block, count) - 1)
        return min(MAX_DELAY_SECONDS, blocks * self.block * PACE)

    def _view(self, project_id: str) -> View:
        if project_id not in self.views and len(self.views) >= MAX_PROJECTS:
            self.views.clear()
        return self.views.setdefault(project_id, View())
