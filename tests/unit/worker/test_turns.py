"""Turns on a thread: nobody waits for another's pause."""

from tests.support.fakes import FakeTime
from ticket_numbering.turns import Task, Turns


class Log:
    """Makes tasks that write down their turns, and with which time left."""

    def __init__(self) -> None:
        self.time = FakeTime(left=100.0)
        self.turns: list[tuple[str, float]] = []

    def task(self, name: str, *pauses: float) -> Task:
        """Return a task that pauses so often and so long."""
        left = iter(pauses)

        def turn() -> float | None:
            self.turns.append((name, self.time.left))
            return next(left, None)

        return turn

    def take(self, *tasks: Task) -> None:
        """Run the tasks on one thread."""
        Turns(tasks, self.time.time_left, self.time.sleep).take(0)


class TestOrder:
    """Who is due first is next, and everybody is due at once."""

    def test_first_turns_come_before_second_ones_when_a_task_pauses(self) -> None:
        """Whoever need not pause is done before anybody comes back."""
        log = Log()

        log.take(log.task("a", 0.0), log.task("b", 0.0), log.task("c"))

        assert [name for name, _ in log.turns] == ["a", "b", "c", "a", "b"]

    def test_shorter_pause_ends_first_when_several_tasks_pause(self) -> None:
        """A long pause takes no thread from who is due before it ends."""
        log = Log()

        log.take(log.task("a", 8.0), log.task("b", 1.0, 2.0))

        assert log.turns[2:] == [("b", 99.0), ("b", 97.0), ("a", 92.0)]

    def test_pause_is_kept_when_nobody_else_waits(self) -> None:
        """Nobody comes back too early."""
        log = Log()

        log.take(log.task("a", 5.0))

        assert log.turns == [("a", 100.0), ("a", 95.0)]

    def test_time_of_other_turns_counts_when_a_task_pauses(self) -> None:
        """A pause goes on while others have their turns."""
        log = Log()

        def slow() -> None:
            log.time.sleep(3.0)

        log.take(log.task("a", 5.0), slow)

        assert log.time.slept == [3.0, 2.0]
