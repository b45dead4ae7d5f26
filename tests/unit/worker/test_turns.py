"""Turns on threads: no task waits for the delay of another, and work is done idly."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Event

import pytest

from tests.support.builders import plenty
from tests.support.fakes import FakeTime
from ticket_numbering.worker.turns import Task, Turns, Work

DEADLOCK_SECONDS = 60
"""Ends a test that hangs; no right order takes so long."""

MOMENT_SECONDS = 0.05
"""Enough for a thread that nothing holds."""


class Log:
    """Makes tasks that record their turns, and with which time left."""

    def __init__(self) -> None:
        self.time = FakeTime(left=100.0)
        self.turns: list[tuple[str, float]] = []
        self.work: list[float] = []
        """The seconds that each idle work takes."""

    def task(self, name: str, *delays: float) -> Task:
        """Return a task that backs off so often and so long."""
        left = iter(delays)

        def turn() -> float | None:
            self.turns.append((name, self.time.left))
            return next(left, None)

        return turn

    def slow(self) -> None:
        """Take three seconds."""
        self.time.sleep(3.0)

    def take(self, *tasks: Task, work: Sequence[float] = ()) -> None:
        """Run the tasks on one thread; each idle work takes this number of seconds."""
        self.work += work
        Turns(tasks, self.time.time_left, self.time.sleep, self._idle_work).take(0)

    def _idle_work(self) -> Work | None:
        if not self.work:
            return None
        self.turns.append(("work", self.time.left))
        return partial(self.time.sleep, self.work.pop())


def test_first_turns_come_before_second_ones_when_tasks_back_off() -> None:
    log = Log()

    log.take(log.task("a", 0.0), log.task("b", 0.0), log.task("c"))

    assert [name for name, _ in log.turns] == ["a", "b", "c", "a", "b"]


def test_shorter_delay_ends_first_when_several_tasks_back_off() -> None:
    log = Log()

    log.take(log.task("a", 8.0), log.task("b", 1.0, 2.0))

    assert log.turns[2:] == [("b", 99.0), ("b", 97.0), ("a", 92.0)]


class TestIdleWork:
    """It is done while no task runs and one waits, and delays none for long."""

    @pytest.mark.parametrize(("delay", "at"), [(8.0, 92.0), (0.0, 100.0)])
    def test_work_is_done_before_the_thread_sleeps(
        self, delay: float, at: float
    ) -> None:
        log = Log()

        log.take(log.task("a", delay), log.task("b"), work=[0.0])

        assert log.turns[1:] == [("b", 100.0), ("work", 100.0), ("a", at)]

    def test_none_is_done_when_no_task_backs_off(self) -> None:
        log = Log()

        log.take(log.task("a"), log.task("b"), work=[0.0])

        assert log.turns == [("a", 100.0), ("b", 100.0)]

    def test_none_is_done_when_all_tasks_are_done(self) -> None:
        log = Log()
        delays = iter([8.0])

        def brings_work() -> float | None:
            delay = next(delays, None)
            log.work = [] if delay else [0.0]
            return delay

        log.take(brings_work)

        assert log.turns == []

    def test_work_is_left_when_a_task_is_overdue(self) -> None:
        log = Log()

        log.take(log.task("a", 1.0), log.slow, work=[0.0])

        assert log.turns == [("a", 100.0), ("a", 97.0)]

    def test_its_time_counts_when_a_task_backs_off(self) -> None:
        log = Log()

        log.take(log.task("a", 8.0), work=[2.0, 3.0])

        assert log.turns[1:] == [("work", 100.0), ("work", 97.0), ("a", 92.0)]

    def test_work_is_done_by_a_thread_that_ends_when_another_sleeps(self) -> None:
        harness = Harness()

        def ends() -> None:
            harness.wait_for(harness.asleep)

        harness.take(harness.backs_off, ends)

        assert harness.missing == []

    def test_work_is_done_by_a_thread_that_slept_too_when_another_sleeps(self) -> None:
        harness = Harness(both_sleep=True)
        delays = iter([1.0])

        def backs_off_later() -> float | None:
            harness.wait_for(harness.asleep)
            return next(delays, None)

        harness.take(harness.backs_off, backs_off_later)

        assert harness.missing == []

    def test_tasks_go_on_and_start_no_second_work_when_a_thread_works(self) -> None:
        """Another thread wakes up, runs its task, and sleeps for the task left here."""
        harness = Harness(lasting=True)

        def backs_off_later() -> float | None:
            harness.wait_for(harness.asleep)
            return None if harness.asleep_again.is_set() else 1.0

        harness.take(harness.backs_off, backs_off_later)

        assert harness.missing == []
        assert harness.second_looks == 0

    def test_task_that_wakes_up_waits_when_a_thread_looks_for_work(self) -> None:
        asleep, awake, started = Event(), Event(), Event()
        early: list[bool] = []

        def backs_off() -> float | None:
            if not asleep.is_set():
                return 1.0
            started.set()
            return None

        def sleep(_: float) -> None:
            asleep.set()
            awake.wait(DEADLOCK_SECONDS)

        def look() -> None:
            awake.set()
            early.append(started.wait(MOMENT_SECONDS))

        def ends() -> None:
            asleep.wait(DEADLOCK_SECONDS)

        turns = Turns([backs_off, ends], plenty, sleep, look)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(turns.take, range(2)))

        assert early == [False]


@dataclass
class Harness:
    """Two threads; each step waits for one of the other thread."""

    lasting: bool = False
    """Whether the work ends only when the other thread is asleep again."""
    both_sleep: bool = False
    """Whether there is work only when both sleep; the first one wakes up then."""
    asleep: Event = field(default_factory=Event)
    asleep_again: Event = field(default_factory=Event)
    at_work: Event = field(default_factory=Event)
    missing: list[Event] = field(default_factory=list)
    """The steps that never came."""
    is_working: bool = False
    second_looks: int = 0
    """Looks for work while a thread works."""

    def take(self, *tasks: Task) -> None:
        """Run each task on a thread of its own."""
        turns = Turns(tasks, plenty, self._sleep, self._idle_work)
        with ThreadPoolExecutor(len(tasks)) as pool:
            list(pool.map(turns.take, range(len(tasks))))

    def backs_off(self) -> float | None:
        """Back off once."""
        return None if self.asleep.is_set() else 1.0

    def wait_for(self, step: Event) -> None:
        """Wait for a step of the other thread."""
        if not step.wait(DEADLOCK_SECONDS):
            self.missing.append(step)

    def _sleep(self, _: float) -> None:
        """Sleep until the other thread works, or sleeps too."""
        is_first = not self.asleep.is_set()
        (self.asleep if is_first else self.asleep_again).set()
        self.wait_for(
            self.asleep_again if is_first and self.both_sleep else self.at_work
        )

    def _idle_work(self) -> Work | None:
        self.second_looks += self.is_working
        is_early = self.both_sleep and not self.asleep_again.is_set()
        return None if is_early or self.at_work.is_set() else self._work

    def _work(self) -> None:
        self.is_working = True
        self.at_work.set()
        if self.lasting:
            self.wait_for(self.asleep_again)
        self.is_working = False
