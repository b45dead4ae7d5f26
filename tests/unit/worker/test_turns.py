"""Turns on a thread: no task waits for the delay of another."""

import pytest

from tests.support.fakes import FakeTime
from ticket_numbering.worker.turns import Task, Turns


class Log:
    """Makes tasks that record their turns, and with which time left."""

    def __init__(self) -> None:
        self.time = FakeTime(left=100.0)
        self.turns: list[tuple[str, float]] = []

    def task(self, name: str, *delays: float) -> Task:
        """Return a task that backs off so often and so long."""
        left = iter(delays)

        def turn() -> float | None:
            self.turns.append((name, self.time.left))
            return next(left, None)

        return turn

    def take(self, *tasks: Task) -> None:
        """Run the tasks on one thread."""
        Turns(tasks, self.time.time_left, self.time.sleep).take(0)


def test_first_turns_come_before_second_ones_when_tasks_back_off() -> None:
    log = Log()

    log.take(log.task("a", 0.0), log.task("b", 0.0), log.task("c"))

    assert [name for name, _ in log.turns] == ["a", "b", "c", "a", "b"]


def test_shorter_delay_ends_first_when_several_tasks_back_off() -> None:
    log = Log()

    log.take(log.task("a", 8.0), log.task("b", 1.0, 2.0))

    assert log.turns[2:] == [("b", 99.0), ("b", 97.0), ("a", 92.0)]


@pytest.mark.parametrize(("delay", "rest"), [(5.0, 2.0), (1.0, 0.0)])
def test_time_of_other_turns_counts_when_a_task_backs_off(
    delay: float, rest: float
) -> None:
    log = Log()

    def slow() -> None:
        log.time.sleep(3.0)

    log.take(log.task("a", delay), slow)

    assert log.turns == [("a", 100.0), ("a", 97.0 - rest)]
    assert log.time.slept == [3.0, rest]
