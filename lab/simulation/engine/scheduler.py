"""A deterministic scheduler of greenlets on a virtual clock.

The code that runs on it is ordinary synchronous code; where it would block, the
scheduler switches to another task.
"""

import heapq
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any

from greenlet import GreenletExit, getcurrent

from simulation.engine.choices import Choices
from simulation.engine.tasks import FOREVER, Future, Process, Task, Wakeup


class Scheduler:
    """Runs one task at a time; which of the ready tasks is a choice."""

    def __init__(self, choices: Choices) -> None:
        self.now = 0.0
        self.steps = 0
        self._choices = choices
        self._serials = count()
        self._ready: list[Wakeup] = []
        self._later: list[tuple[float, int, Wakeup]] = []
        self._killed: deque[Process] = deque()
        self._processes: dict[Process, None] = {}
        self._hub = getcurrent()

    # Called by tasks.

    def spawn(
        self,
        process: Process,
        name: str,
        action: Callable[[], object],
        delay: float = 0.0,
        *,
        is_local: bool = False,
    ) -> None:
        """Start a task, which may be chosen after a delay.

        A local action begins with nothing that other tasks see.
        """
        task = Task(self._hub, process, name, action)
        process.tasks.append(task)
        self._processes.setdefault(process)
        self._at(self.now + delay, task).is_local = is_local

    def sleep(self, seconds: float) -> None:
        """Let other tasks run for this time."""
        self._at(self.now + seconds, self._running())
        self._switch()

    def wait(self, future: Future, seconds: float = FOREVER) -> bool:
        """Wait for the future, this long at most; return whether it is done."""
        if not future.done:
            future.waiting = self._at(self.now + seconds, self._running())
            self._switch()
        return future.done

    def resolve(self, future: Future, value: Any = None) -> None:
        """Set the future's value and wake the task that waits for it."""
        if future.done:
            return
        future.done, future.value = True, value
        if future.waiting is not None and not future.waiting.cancelled:
            future.waiting.cancelled = True
            self._at(self.now, future.waiting.task).is_local = True

    def kill(self, process: Process) -> None:
        """End every task of the process where it stands.

        Raises:
            GreenletExit: The running task is one of them.
        """
        process.alive = False
        self.resolve(process.ended)
        self._killed.append(process)
        if self._running().process is process:
            raise GreenletExit

    # Called by the owner.

    def move_here(self) -> None:
        """Let the tasks to come run in this thread, between two runs."""
        self._hub = getcurrent()

    def run(self) -> None:
        """Run until no task is left that can go on.

        Raises:
            Exception: Of a task; it ends the history.
        """
        while (wakeup := self._next()) is not None:
            self.steps += 1
            wakeup.cancelled = True
            wakeup.task.switch()
            self._end_killed()

    @property
    def process(self) -> Process:
        """The process of the running task."""
        return self._running().process

    def _running(self) -> Task:
        task = getcurrent()
        if not isinstance(task, Task):
            raise TypeError("only a task can do that")
        return task

    def _at(self, time: float, task: Task) -> Wakeup:
        wakeup = Wakeup(task, time)
        if time <= self.now:
            self._ready.append(wakeup)
        elif time < FOREVER:
            heapq.heappush(self._later, (time, next(self._serials), wakeup))
        return wakeup

    def _switch(self) -> None:
        task = self._running()
        if not task.process.alive:  # It is in a `finally` of a killed task.
            raise GreenletExit
        self._hub.switch()

    def _next(self) -> Wakeup | None:
        while True:
            self._ready = [
                wakeup for wakeup in self._ready if not self._is_over(wakeup)
            ]
            for position, wakeup in enumerate(self._ready):
                if wakeup.is_local:
                    return self._ready.pop(position)
            if self._ready:
                return self._ready.pop(self._choices.pick(len(self._ready)))
            while self._later and self._is_over(self._later[0][2]):
                heapq.heappop(self._later)
            if not self._later:
                return None
            self.now = self._later[0][0]
            while self._later and self._later[0][0] <= self.now:
                self._ready.append(heapq.heappop(self._later)[2])

    def _is_over(self, wakeup: Wakeup) -> bool:
        return wakeup.cancelled or wakeup.task.dead

    def end(self) -> None:
        """End the waiting tasks: a suspended greenlet keeps its objects alive."""
        self._killed += self._processes
        for process in self._processes:
            process.alive = False
        self._end_killed()

    def _end_killed(self) -> None:
        while self._killed:
            for task in self._killed.popleft().tasks:
                if not task.dead:
                    task.throw()
