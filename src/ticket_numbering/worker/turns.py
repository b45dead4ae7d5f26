"""Tasks that take turns on a few threads: one that backs off releases its thread.

So no task waits for the delay of another, and each has its first turn before any has
its second. While no task runs and one waits, a free thread does idle work.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from threading import Lock
from typing import Final

from ticket_numbering.contract.time_left import TimeLeft

AT_ONCE: Final = float("-inf")

Task = Callable[[], float | None]
"""Runs until it is done, or returns the seconds that it must wait."""

Work = Callable[[], object]


@dataclass(slots=True)
class Turns:
    """The tasks that are not finished."""

    tasks: Sequence[Task]
    time_left: TimeLeft
    sleep: Callable[[float], None]
    idle_work: Callable[[], Work | None]
    """Returns the work of an idle moment, or None.

    No task runs or starts during the call. Tasks go on during the work; one that finds
    no free thread is late until the work is done.
    """
    waiting: list[tuple[float, int]] = field(init=False)
    """The due time and index of each task that waits without a thread; a heap."""
    sleeping: int = 0
    """The count of tasks that wait on a thread."""
    running: int = 0
    """The count of threads that run a task or do idle work."""
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.waiting = [(AT_ONCE, index) for index in range(len(self.tasks))]

    def take(self, _thread: int = 0) -> None:
        """Run the task that is due first, in a loop, until none waits for a thread.

        Then every unfinished task has a thread of its own.
        """
        while turn := self._next():
            turn()

    def is_idle(self) -> bool:
        """Return whether no task runs or is due, and one waits."""
        if self.running:
            return False
        if self.waiting:
            due, _ = self.waiting[0]
            return due >= self._now()
        return self.sleeping > 0

    def _next(self) -> Work | None:
        """Return the thread's next turn; None if no task waits for a thread.

        A thread that would sleep or end first takes idle work, if the moment is idle.
        """
        with self._lock:  # The check and the counts are one step.
            if self.is_idle() and (work := self.idle_work()):
                self.running += 1
                return partial(self._do, work)
            if not self.waiting:
                return None
            due, index = heappop(self.waiting)
            if due < self._now():
                self.running += 1
                return partial(self._run, index)
            self.sleeping += 1
            return partial(self._run_at, due, index)

    def _do(self, work: Work) -> None:
        work()
        with self._lock:
            self.running -= 1

    def _run_at(self, due: float, index: int) -> None:
        self.sleep(max(0.0, due - self._now()))
        with self._lock:
            self.sleeping -= 1
            self.running += 1
        self._run(index)

    def _run(self, index: int) -> None:
        delay = self.tasks[index]()
        with self._lock:
            self.running -= 1
            if delay is not None:
                heappush(self.waiting, (self._now() + delay, index))

    def _now(self) -> float:
        """Return the negative time left, which grows: the deadline's own clock."""
        return -self.time_left()
