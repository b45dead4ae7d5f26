"""A place in a project's line, the line's port, and the bounds of a wait.

A place hints *when* to write. The number comes from the head, with or without a line.
"""

from dataclasses import dataclass
from math import ceil, inf
from typing import Final, Protocol

# In shortest blocks:
PATIENCE: Final = 5.0
"""Without a move of the head: whose turn it is does not come."""
SPACING: Final = 1.2
"""Between the attempts of those who wait behind."""
USUAL_PACE: Final = 1.35
"""Between two moves of the head, if no worker is missing."""
LATENESS: Final = 2.5
"""Beyond that: a worker in front may have been passed."""

LINEAR: Final = 10
"""Blocks in front, beyond which chance decides who writes first."""

MAX_PATIENCE_SECONDS: Final = 1.5
"""However slow the blocks are."""

SLOW: Final = 1.5
SLOW_SECONDS: Final = 0.6
"""So many times the usual pace, and these seconds: the places in front may be dead."""

CLOSED_SECONDS: Final = 10.0
"""Without a line, after it failed or was wrong."""

MAX_DELAY_SECONDS: Final = 1.0
"""Between two reads of the head."""

USUAL_BLOCK: Final = 10.0
"""Requests of a block in front, as long as no own one is known."""

LEAST_BLOCK: Final = 1.5
"""Requests: with fewer, a worker behind single ones would oversleep."""

SHRINKING: Final = 0.9
"""Of the largest own block lately, with each one that was smaller."""

MAX_STRIKES: Final = 10
"""Places of a project that were wrong, in a row: then its line is."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in line: a hint, and no number."""

    turn: int
    """The last number before ours, if all in front write what they asked for."""
    end: int
    """The last number of ours, if they do."""
    given_up: int
    """The numbers that were ever given up in the line, as far as known."""

    @property
    def size(self) -> int:
        """The numbers asked for."""
        return max(1, self.end - self.turn)


class LineStore(Protocol):
    """Counts the numbers that are asked for in each project's line."""

    def take(self, project_id: str, head: int, count: int) -> Place:
        """Ask for numbers behind all others', and behind the head.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer.
            StoreRefusedError: A right or the store is missing.
        """
        ...

    def give_up(self, project_id: str, given_up: int, count: int) -> int:
        """Give up numbers, unless others were given up since; 0 only asks.

        Args:
            project_id: The project.
            given_up: The numbers ever given up, as far as known.
            count: The numbers to give up.

        Returns:
            The numbers ever given up now.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer.
            StoreRefusedError: A right or the store is missing.
        """
        ...


@dataclass(slots=True)
class Wait:
    """The waits of one project's requests in a batch; the last one in detail.

    `block` is the shortest time of a block lately, in seconds.
    """

    until: float = inf
    """The end of all of them; inf before the first."""
    seconds: float = 0.0
    """The time waited, in all."""
    failures: int = 0
    """Calls of the line that failed."""
    place: Place | None = None
    taken: tuple[float, int] = (0.0, 0)
    """When the place was taken, and the head at that time."""
    known: tuple[float, int] = (0.0, 0)
    """When the place was last known to be right, and the head at that time."""
    nerve: float = 0.0
    """From 0 to 1: chance, drawn for each place."""
    is_late: bool = False
    """Whether a worker in front was perhaps passed just now."""
    is_blocked: bool = False
    """Whether another transaction held the next number in our turn."""

    def begin(self, place: Place, head: int, now: float, nerve: float) -> None:
        """Begin a wait at a new place."""
        self.place, self.nerve = place, nerve
        self.taken = self.known = now, head
        self.is_late = self.is_blocked = False

    def should_ask(self, head: int, now: float, block: float, *, moved: bool) -> bool:
        """Tell whether to ask for numbers given up: the head is late at its pace.

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
        """Return the seconds without a move of the head after which we write anyway.

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
    """A project and its line, as this execution environment has seen them."""

    head: int = 0
    seen_at: float = -inf
    moved_at: float = -inf
    """When the head was first seen, in an unbroken row of reads."""
    contended_until: float = -inf
    repeated_until: float = -inf
    closed_until: float = -inf
    doubted_until: float = -inf
    """After a wait behind places to which nobody may come."""
    strikes: int = 0
    usual_block: float = USUAL_BLOCK
    """About the requests of the largest own block lately: others' are like ours."""

    def wrote(self, size: int) -> None:
        """Note an own block."""
        self.usual_block = max(LEAST_BLOCK, size, self.usual_block * SHRINKING)

    def saw(self, head: int, now: float) -> bool:
        """Note the head; return whether it has moved since a moment ago."""
        is_fresh = now - self.seen_at <= MAX_DELAY_SECONDS
        has_moved = head != self.head
        if has_moved or not is_fresh:
            self.moved_at = now
        self.head, self.seen_at = head, now
        return has_moved and is_fresh

    def strike(self, now: float) -> None:
        """Note that a place was wrong; often in a row, then the line is."""
        self.strikes += 1
        if self.strikes >= MAX_STRIKES:
            self.strikes, self.closed_until = 0, now + CLOSED_SECONDS
