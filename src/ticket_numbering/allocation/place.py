"""A place in a project's line, the line's port, and the bounds of a wait.

A place is a hint *when* to write. The number always comes from the head.
"""

from dataclasses import dataclass
from math import ceil, inf
from typing import Final, Protocol

# In units of the shortest block:
PATIENCE: Final = 5.0
"""The time without a move of the head after which the next in line is missing."""
SPACING: Final = 1.2
"""The interval between the attempts of the workers behind."""
USUAL_PACE: Final = 1.35
"""The time between two moves of the head, if no worker is missing."""
LATENESS: Final = 2.5
"""The delay beyond that after which a worker in front may have been passed."""

LINEAR: Final = 10
"""The blocks in front beyond which chance decides who writes first."""

MAX_PATIENCE_SECONDS: Final = 1.5
"""The maximum, however slow the blocks are."""

SLOW: Final = 1.5
SLOW_SECONDS: Final = 0.6
"""The slowdown, in times and seconds, after which places in front may be dead."""

CLOSED_SECONDS: Final = 10.0
"""The time without a line after it failed or was wrong."""

MAX_DELAY_SECONDS: Final = 1.0
"""The longest delay between two reads of the head."""

FRESH_SECONDS: Final = 2 * MAX_DELAY_SECONDS
"""Between two reads that belong together: the longest delay, and a read."""

USUAL_BLOCK: Final = 10.0
"""The assumed requests of a block in front, before the first own block."""

LEAST_BLOCK: Final = 1.5
"""The minimal assumed requests; with fewer, a worker would wait too long."""

SHRINKING: Final = 0.9
"""The decay of the largest recent own block with each smaller one."""

MAX_STRIKES: Final = 10
"""The consecutive wrong places after which a project's line is closed."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in line, which is only a hint."""

    turn: int
    """The last number before the place, if all in front use theirs."""
    end: int
    """The last number of the place, likewise."""
    given_up: int
    """The known total of numbers ever given up in the line."""

    @property
    def size(self) -> int:
        """The count of requested numbers."""
        return max(1, self.end - self.turn)


class LineStore(Protocol):
    """Counts the requested numbers in each project's line."""

    def take(self, project_id: str, head: int, count: int) -> Place:
        """Request numbers after all others', and after the head.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer.
            StoreRefusedError: A right or the store is missing.
        """
        ...

    def give_up(self, project_id: str, given_up: int, count: int) -> int:
        """Give up numbers, unless others were given up since; 0 only reads.

        Args:
            project_id: The project.
            given_up: The known total of numbers ever given up.
            count: The numbers to give up.

        Returns:
            The current total of numbers ever given up.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer.
            StoreRefusedError: A right or the store is missing.
        """
        ...


@dataclass(slots=True)
class Wait:
    """The waits of one project's requests in a batch, with details of the last one.

    `block` is the shortest recent time of a block, in seconds.
    """

    until: float = inf
    """The end of all waits; inf before the first."""
    seconds: float = 0.0
    """The total time waited."""
    failures: int = 0
    """The count of failed calls of the line."""
    place: Place | None = None
    taken: tuple[float, int] = (0.0, 0)
    """The time when the place was taken, and the head at that time."""
    known: tuple[float, int] = (0.0, 0)
    """The time when the place was last right, and the head at that time."""
    nerve: float = 0.0
    """A random number from 0 to 1, drawn for each place."""
    is_late: bool = False
    """Whether a worker in front may just have been passed."""
    is_blocked: bool = False
    """Whether another transaction held the next number in the own turn."""

    def begin(self, place: Place, head: int, now: float, nerve: float) -> None:
        """Start a wait at a new place."""
        self.place, self.nerve = place, nerve
        self.taken = self.known = now, head
        self.is_late = self.is_blocked = False

    def end(self) -> None:
        """Queue no more in this batch."""
        self.until = -inf

    def should_ask(self, head: int, now: float, block: float, *, moved: bool) -> bool:
        """Tell whether to read the given-up numbers, because the head is late.

        A worker that passed another gives its numbers up after the head has moved.
        """
        if not self._is_slower(self.known, head, now, block * LATENESS, block):
            if moved:
                self.known = now, head
            return False
        if moved and not self.is_late:
            self.is_late = True
            return False
        self.known, self.is_late = (now, head), False
        return True

    def is_vain(self, head: int, now: float, block: float) -> bool:
        """Return whether blocks come so slowly that the places in front may be dead."""
        return self._is_slower(self.taken, head, now, SLOW_SECONDS, block * SLOW)

    def patience(self, gap: int, block: float) -> float:
        """Return the seconds without a move of the head after which to write anyway.

        The nearest come first. The gap is positive.
        """
        behind = ceil(gap / self._size) - 1
        attempts = behind if behind <= LINEAR else LINEAR * (1 + self.nerve)
        return min(MAX_PATIENCE_SECONDS, block * (PATIENCE + SPACING * attempts))

    def _is_slower(
        self, since: tuple[float, int], head: int, now: float, spare: float, pace: float
    ) -> bool:
        then, first = since
        return now - then > spare + (head - first) / self._size * pace * USUAL_PACE

    @property
    def _size(self) -> int:
        return self.place.size if self.place else 1


@dataclass(slots=True)
class View:
    """This execution environment's view of a project and its line."""

    head: int = 0
    seen_at: float = -inf
    moved_at: float = -inf
    """The time when the current head was first seen, without a pause in reads."""
    contended_until: float = -inf
    repeated_until: float = -inf
    closed_until: float = -inf
    doubted_until: float = -inf
    """The end of the doubt after a wait behind places that may be dead."""
    strikes: int = 0
    usual_block: float = USUAL_BLOCK
    """The requests of the largest recent own block, assumed for others, too."""

    def wrote(self, size: int) -> None:
        """Record an own block."""
        self.usual_block = max(LEAST_BLOCK, size, self.usual_block * SHRINKING)

    def saw(self, head: int, now: float) -> bool:
        """Record the head; return whether it has moved since a recent read."""
        is_fresh = now - self.seen_at <= FRESH_SECONDS
        has_moved = head != self.head
        if has_moved or not is_fresh:
            self.moved_at = now
        self.head, self.seen_at = head, now
        return has_moved and is_fresh

    def strike(self, now: float) -> None:
        """Record a wrong place; close the line after too many in a row."""
        self.strikes += 1
        if self.strikes >= MAX_STRIKES:
            self.strikes, self.closed_until = 0, now + CLOSED_SECONDS
