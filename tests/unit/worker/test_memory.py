"""What a sandbox remembers: only a shortcut, and never for long."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from ticket_numbering.errors import (
    SequenceContentionError,
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)
from ticket_numbering.memory import (
    CALM_PAUSE_SECONDS,
    CONTENTION_FACTOR,
    FAILURE_FACTOR,
    FRESH,
    LONGEST_PAUSE_SECONDS,
    MAX_PROJECTS,
    OVERLOAD_FACTOR,
    OVERLOAD_PAUSE_SECONDS,
    PROGRESS_FACTOR,
    Memory,
    ProjectMemory,
)

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
A_MICROSECOND = timedelta(microseconds=1)
CROWD = SequenceContentionError("others were faster")
OVERLOAD = StoreThrottledError("no more to give")
FAILURE = StoreUnavailableError("no answer")


def remembering(number: int) -> ProjectMemory:
    """Return a memory that learned at noon which number is next."""
    memory = ProjectMemory()
    memory.committed(number, NOON)
    return memory


class TestNumber:
    """The number after our last is known for a moment."""

    def test_number_is_unknown_when_nothing_was_committed(self) -> None:
        """A new sandbox has to read."""
        assert ProjectMemory().next_number(NOON) is None

    @pytest.mark.parametrize("age", [timedelta(0), FRESH / 2, FRESH])
    def test_number_is_known_when_it_is_fresh(self, age: timedelta) -> None:
        """The bound itself is fresh."""
        assert remembering(8).next_number(NOON + age) == 8

    @pytest.mark.parametrize("age", [FRESH + A_MICROSECOND, timedelta(days=1)])
    def test_number_is_unknown_when_it_is_old(self, age: timedelta) -> None:
        """Somebody else has probably gone on."""
        assert remembering(8).next_number(NOON + age) is None

    def test_number_is_unknown_when_the_clock_was_set_back(self) -> None:
        """Or it would stay young until the clock is where it was."""
        assert remembering(8).next_number(NOON - timedelta(hours=1)) is None

    def test_number_is_the_latest_when_blocks_follow_each_other(self) -> None:
        """And as young as the latest."""
        memory = remembering(8)
        memory.committed(9, NOON + FRESH)

        assert memory.next_number(NOON + 2 * FRESH) == 9

    def test_number_stays_known_when_a_try_fails(self) -> None:
        """A setback says nothing of what is committed."""
        memory = remembering(8)
        memory.set_back(OVERLOAD)

        assert memory.next_number(NOON) == 8


class TestPause:
    """The pause follows how crowded the project is."""

    def test_pause_is_short_when_the_project_is_new(self) -> None:
        """Most projects have one worker, and nobody in its way."""
        assert ProjectMemory().pause == CALM_PAUSE_SECONDS

    def test_pause_grows_when_somebody_was_faster(self) -> None:
        """With each setback."""
        memory = ProjectMemory()

        pauses = [memory.set_back(CROWD) for _ in range(3)]

        assert pauses == pytest.approx(
            [CALM_PAUSE_SECONDS * CONTENTION_FACTOR**each for each in (1, 2, 3)]
        )
        assert memory.pause == pauses[-1]

    def test_pause_doubles_when_the_store_fails(self) -> None:
        """A lost answer says nothing of a crowd."""
        assert ProjectMemory(pause=0.5).set_back(FAILURE) == 0.5 * FAILURE_FACTOR

    def test_pause_is_a_second_at_least_when_the_store_is_overloaded(self) -> None:
        """However calm it was before."""
        assert ProjectMemory().set_back(OVERLOAD) == OVERLOAD_PAUSE_SECONDS

    def test_pause_is_multiplied_when_the_store_stays_overloaded(self) -> None:
        """From wherever it was."""
        memory = ProjectMemory(pause=0.5)

        assert memory.set_back(OVERLOAD) == 0.5 * OVERLOAD_FACTOR

    @pytest.mark.parametrize("error", [CROWD, FAILURE, OVERLOAD], ids=str)
    def test_pause_ends_at_the_longest_when_it_keeps_growing(
        self, error: TransientError
    ) -> None:
        """Whatever makes it grow."""
        memory = ProjectMemory(pause=LONGEST_PAUSE_SECONDS * 0.99)

        assert memory.set_back(error) == LONGEST_PAUSE_SECONDS
        assert memory.set_back(error) == LONGEST_PAUSE_SECONDS

    def test_pause_shrinks_when_a_block_gets_through(self) -> None:
        """By degrees, for one success does not mean that the crowd is gone."""
        memory = ProjectMemory(pause=1.0)

        memory.committed(2, NOON)

        assert memory.pause == PROGRESS_FACTOR

    def test_pause_ends_at_the_shortest_when_it_keeps_shrinking(self) -> None:
        """As long as a transaction, or the next try would meet the same one."""
        memory = ProjectMemory(pause=CALM_PAUSE_SECONDS * 1.1)

        for number in (2, 3):
            memory.committed(number, NOON)

        assert memory.pause == CALM_PAUSE_SECONDS


class TestProjects:
    """Each project has a memory of its own, and there is an end to them."""

    def test_memory_is_the_same_when_the_project_comes_again(self) -> None:
        """It lives on between batches."""
        memory = Memory()

        assert memory.of("A") is memory.of("A")

    def test_memory_is_another_when_the_project_is_another(self) -> None:
        """What one learned says nothing of the other."""
        memory = Memory()
        memory.of("A").committed(8, NOON)
        memory.of("A").set_back(OVERLOAD)

        assert memory.of("B") == ProjectMemory()

    def test_memory_holds_so_many_projects_when_none_is_one_too_many(self) -> None:
        """The last that there is room for pushes nobody out."""
        memory = Memory()
        memory.of("first").committed(8, NOON)
        for number in range(MAX_PROJECTS - 2):
            memory.of(f"P{number}")

        assert memory.of("first").next_number(NOON) == 8
        memory.of("last")
        assert len(memory.projects) == MAX_PROJECTS

    def test_memory_starts_anew_when_there_are_too_many_projects(self) -> None:
        """A sandbox may live for hours and meet any number of them."""
        memory = Memory()
        for number in range(MAX_PROJECTS):
            memory.of(f"P{number}").committed(8, NOON)

        assert memory.of("one too many") == ProjectMemory()
        assert set(memory.projects) == {"one too many"}

    def test_memory_stays_bounded_when_threads_fill_it(self) -> None:
        """A batch's projects are worked on side by side."""
        memory = Memory()
        names = [f"P{number}" for number in range(3 * MAX_PROJECTS)]

        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(memory.of, names))

        assert all(isinstance(each, ProjectMemory) for each in found)
        assert len({id(each) for each in found}) == len(names)
        assert len(memory.projects) <= MAX_PROJECTS + 8
