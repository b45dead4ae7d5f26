"""Counts what reading costs, keeps to a budget and a pace, and stops when told."""

import time
from collections.abc import Callable
from threading import Event, Lock


class ReadingStoppedError(Exception):
    """The budget is spent, or somebody said stop: nothing more is read."""


class ReadMeter:
    """Shared by the threads of one reading.

    Args:
        most: Read units after which nothing more is read; what is on its way then is
            still counted, so up to a page a thread comes on top.
        per_second: Read units a second, on average since the start.
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
        return self.most is not None and self.units >= self.most

    @property
    def page_limit(self) -> dict[str, int]:
        """How a page is kept small enough for the pace, as a request says it."""
        return {"Limit": max(1, int(self.per_second))} if self.per_second else {}

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
