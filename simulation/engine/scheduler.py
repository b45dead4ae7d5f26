"""A deterministic scheduler of greenlets on a virtual clock.

The code that runs on it is ordinary synchronous code: it is switched away from where
it would block.
"""

import heapq
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from greenlet import GreenletExit, getcurrent, greenlet

from simulation.engine.choices import Choices

FOREVER: Final = float("inf")


@dataclass(eq=False)
class Promise:
    """An answer that somebody may wait for."""

    kept: bool = False
    value: Any = None
    waiting: "Wake | None" = None


@dataclass(eq=False)
class Process:
    """What dies together: the tasks of one invocation, or of one service."""

    name: str
    alive: bool = True
    tasks: list["Task"] = field(default_factory=list)
    ended: Promise = field(default_factory=Promise)
    """Kept without a value if the process is killed."""
    calls: int = 0


class Task(greenlet):
    """One thread of control."""

    def __init__(
        self, hub: greenlet, process: Process, name: str, action: Callable[[], None]
    ) -> None:
        """Belong to a process; return to the hub."""
        super().__init__(action, hub)
        self.process = process
        self.name = name
        self.experience: Hashable = ()
        """Stands for all that the task was told; its state follows from it."""
        self.turns = 0


@dataclass(eq=False, slots=True)
class Wake:
    """A task's turn, at a time."""

    task: Task
    time: float
    is_local: bool = False
    """What follows touches nothing that others see, so it need not be a choice."""
    cancelled: bool = False


class Scheduler:
    """Runs tasks one at a time; which one of those that are ready is a choice."""

    def __init__(self, choices: Choices) -> None:
        """Begin at time 0."""
        self.now = 0.0
        self.steps = 0
        self.watch: Callable[[], None] = lambda: None
        """Called before every choice of the next task."""
        self._choices = choices
        self._serial = count()
        self._ready: list[Wake] = []
        self._later: list[tuple[float, int, Wake]] = []
        self._doomed: deque[Process] = deque()
        self._processes: dict[Process, None] = {}
        self._hub = getcurrent()

    # What a task calls.

    def spawn(  # noqa: PLR0913 - the last two are for the rare caller.
        self,
        process: Process,
        name: str,
        action: Callable[[], None],
        delay: float = 0.0,
        *,
        knows: Hashable = (),
        is_local: bool = False,
    ) -> None:
        """Start a task; it runs after the delay, when it is chosen.

        Args:
            process: What it dies with.
            name: Unique among the tasks alive.
            action: What it does.
            delay: Seconds.
            knows: Stands for what the action was made from.
            is_local: Whether it begins with what touches nothing that others see.
        """
        task = Task(self._hub, process, name, action)
        task.experience = knows
        process.tasks.append(task)
        self._processes.setdefault(process)
        self._at(self.now + delay, task).is_local = is_local

    def sleep(self, seconds: float) -> None:
        """Give way to others for so long."""
        self._at(self.now + seconds, self._me())
        self._give_way()

    def wait(self, promise: Promise, seconds: float = FOREVER) -> bool:
        """Wait for the promise, but not longer; tell whether it was kept."""
        if not promise.kept:
            promise.waiting = self._at(self.now + seconds, self._me())
            self._give_way()
        return promise.kept

    def keep(self, promise: Promise, value: Any = None) -> None:
        """Keep the promise, which wakes who waits for it."""
        if promise.kept:
            return
        promise.kept, promise.value = True, value
        if promise.waiting is not None and not promise.waiting.cancelled:
            promise.waiting.cancelled = True
            self._at(self.now, promise.waiting.task).is_local = True

    def learn(self, fact: Hashable) -> None:
        """Note what the running task was told."""
        me = self._me()
        me.experience = hash((me.experience, fact))

    def forget(self, *facts: Hashable) -> None:
        """Note that the running task begins anew and remembers nothing else."""
        me = self._me()
        me.experience = facts
        me.turns = 0

    def kill(self, process: Process) -> None:
        """End every task of the process where it stands.

        Raises:
            GreenletExit: In the caller, if it is one of them.
        """
        process.alive = False
        self.keep(process.ended)
        self._doomed.append(process)
        if self._me().process is process:
            raise GreenletExit

    # What the owner calls.

    def run(self) -> None:
        """Run until nothing is left to do.

        Raises:
            Exception: A task's, which ends the history.
        """
        while (wake := self._next()) is not None:
            self.steps += 1
            wake.cancelled = True
            wake.task.turns += 1
            wake.task.switch()
            self._bury()

    @property
    def process(self) -> Process:
        """The process of the running task."""
        return self._me().process

    def state(self) -> Hashable:
        """Return what stands for everything that the tasks will do.

        Code that is told the same does the same, so what a task was told, and how
        often it had its turn, stand for where it is.
        """
        turns = self._ready + [wake for _, _, wake in self._later]
        times = {wake.task: wake.time for wake in turns if not self._is_over(wake)}
        tasks = [task for process in self._processes for task in process.tasks]
        return tuple(
            sorted(
                (times.get(task, FOREVER), task.name, task.turns, hash(task.experience))
                for task in tasks
                if not task.dead
            )
        )

    def _me(self) -> Task:
        me = getcurrent()
        if not isinstance(me, Task):
            message = "only a task can do that"
            raise TypeError(message)
        return me

    def _at(self, time: float, task: Task) -> Wake:
        wake = Wake(task, time)
        if time <= self.now:
            self._ready.append(wake)
        elif time < FOREVER:
            heapq.heappush(self._later, (time, next(self._serial), wake))
        return wake

    def _give_way(self) -> None:
        me = self._me()
        if not me.process.alive:  # A `finally` of a killed task.
            raise GreenletExit
        self._hub.switch()

    def _next(self) -> Wake | None:
        while True:
            self._ready = [wake for wake in self._ready if not self._is_over(wake)]
            for position, wake in enumerate(self._ready):
                if wake.is_local:
                    return self._ready.pop(position)
            if self._ready:
                self.watch()
                return self._ready.pop(self._choices.pick(len(self._ready)))
            while self._later and self._is_over(self._later[0][2]):
                heapq.heappop(self._later)
            if not self._later:
                return None
            self.now = self._later[0][0]
            while self._later and self._later[0][0] <= self.now:
                self._ready.append(heapq.heappop(self._later)[2])

    def _is_over(self, wake: Wake) -> bool:
        return wake.cancelled or wake.task.dead

    def end(self) -> None:
        """End who still waits: a suspended greenlet keeps all that it knows alive."""
        self._doomed += self._processes
        for process in self._processes:
            process.alive = False
        self._bury()

    def _bury(self) -> None:
        while self._doomed:
            for task in self._doomed.popleft().tasks:
                if not task.dead:
                    task.throw()
