"""Tasks that take turns on a few threads: one that backs off gives its thread away.

So no task waits for the delay of another, and each has its first turn before any has
its second.
"""

from collections.abc import Callable, Sequence
from queue import Empty, PriorityQueue
from typing import Final

from ticket_numbering.allocation.allocation import TimeLeft

AT_ONCE: Final = float("-inf")

Task = Callable[[], float | None]
"""Goes on until it is done, or must wait for the seconds that it returns."""


class Turns:
    """The tasks that are not finished."""

    def __init__(
        self,
        tasks: Sequence[Task],
        time_left: TimeLeft,
        sleep: Callable[[float], None],
    ) -> None:
        self._tasks = tasks
        self._time_left = time_left
        self._sleep = sleep
        self._waiting: PriorityQueue[tuple[float, int]] = PriorityQueue()
        """When each waiting task is due, and its place."""
        for place in range(len(tasks)):
            self._waiting.put((AT_ONCE, place))

    def take(self, _thread: int = 0) -> None:
        """Run the task that is due first, again and again, until none waits.

        Then every task that is not done yet has a thread of its own.
        """
        while True:
            try:
                due, place = self._waiting.get_nowait()
            except Empty:
                return
            if due > AT_ONCE:
                self._sleep(max(0.0, due - self._now()))
            delay = self._tasks[place]()
            if delay is not None:
                self._waiting.put((self._now() + delay, place))

    def _now(self) -> float:
        """Return a time that grows, by the clock that the deadline goes by."""
        return -self._time_left()
