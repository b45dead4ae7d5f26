"""Counts what reading costs, keeps to a budget and a pace, and stops when told."""

import time
from collections.abc import Callable
from threading import Event, Lock
from typing import Final

_LEAST: Final = 1  # Read units for a consistent read of an item of up to 4 KB.


class ReadingStoppedError(Exception):
    """The budget is spent, or somebody said stop: nothing more is read."""


class ReadMeter:
    """Shared by the threads of one reading.

    Args:
        most: Read units that are not to be exceeded. It holds for one thread; only
            items of more than 4 KB can take the last request past it.
        per_second: Read units a second, on average since the start: after a page, a
            thread waits for as long as the page was worth.
        clock: Tells seconds.
    """

    def __init__(
        self,
        most: float | None = None,
        per_second: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most = most
        self.per_second = per_second
        self.units = 0.0
        self._clock = clock
        self._start = clock()
        self._stopped = Event()
        self._lock = Lock()

    @property
    def is_spent(self) -> bool:
        """Whether the budget is used up."""
        return self.most is not None and self.units + _LEAST > self.most

    def at_most(self, items: int) -> int:
        """Return how many of these items the budget allows in one request."""
        if self.most is None:
            return items
        return max(1, min(items, int((self.most - self.units) / _LEAST)))

    @property
    def seconds_to_wait(self) -> float:
        """How long until the pace allows another request."""
        if not self.per_second:
            return 0
        due = self._start + self.units / self.per_second
        return max(0, due - self._clock())

    def add(self, units: float) -> None:
        """Count what a request took."""
        with self._lock:
            self.units += units

    def stop(self) -> None:
        """Let no thread begin another request."""
        self._stopped.set()

    def wait_for_turn(self) -> None:
        """Wait until the pace allows another request.

        Raises:
            ReadingStoppedError: There will be none.
        """
        if self.is_spent or self._stopped.wait(self.seconds_to_wait):
            raise ReadingStoppedError
