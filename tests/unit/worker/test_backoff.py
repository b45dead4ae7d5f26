"""The delay before the next attempt, which follows how contended a project is."""

import pytest

from ticket_numbering.backoff import (
    BASE_DELAY_SECONDS,
    MAX_DELAY_SECONDS,
    MAX_PROJECTS,
    MIN_DELAY_SECONDS,
    MIN_THROTTLING_DELAY_SECONDS,
    Backoff,
)
from ticket_numbering.errors import (
    SequenceContentionError,
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)

CONTENTION = SequenceContentionError("others were faster")
FAILURE = StoreUnavailableError("no answer")
THROTTLING = StoreThrottledError("no capacity left")


class TestGrowth:
    """Each failed attempt lengthens the delay."""

    def test_delay_is_short_when_the_project_is_new(self) -> None:
        assert Backoff().delay("PROJ") == BASE_DELAY_SECONDS

    @pytest.mark.parametrize("error", [CONTENTION, FAILURE, THROTTLING], ids=str)
    def test_delay_grows_with_each_failure_until_the_longest(
        self, error: TransientError
    ) -> None:
        backoff = Backoff()

        delays = [backoff.grow("PROJ", error) for _ in range(50)]

        assert delays == sorted(delays)
        assert BASE_DELAY_SECONDS < delays[0] < delays[1] < delays[-1]
        assert delays[-1] == backoff.delay("PROJ") == MAX_DELAY_SECONDS

    def test_delay_grows_most_when_throttled_and_least_when_contended(self) -> None:
        contended, failed, throttled = (
            Backoff().grow("PROJ", error) for error in (CONTENTION, FAILURE, THROTTLING)
        )

        assert contended < failed < throttled
        assert throttled == MIN_THROTTLING_DELAY_SECONDS

    def test_delay_grows_from_where_it_is_when_throttled_again(self) -> None:
        backoff = Backoff({"PROJ": 1.2})

        assert backoff.grow("PROJ", THROTTLING) > 5 * 1.2


class TestDecay:
    """Each committed block shortens the delay."""

    def test_delay_shrinks_by_degrees_when_blocks_are_committed(self) -> None:
        """One success does not mean that the contention is over."""
        backoff = Backoff({"PROJ": 1.0})

        backoff.decay("PROJ")

        assert 0.5 < backoff.delay("PROJ") < 1.0

    def test_delay_ends_at_the_shortest_when_it_keeps_shrinking(self) -> None:
        backoff = Backoff({"PROJ": MIN_DELAY_SECONDS * 1.1})

        for _ in range(2):
            backoff.decay("PROJ")

        assert backoff.delay("PROJ") == MIN_DELAY_SECONDS

    def test_nothing_is_kept_when_a_project_was_never_contended(self) -> None:
        backoff = Backoff()

        backoff.decay("PROJ")

        assert backoff.delays == {}


class TestProjects:
    """Each project has a delay of its own, and their number is bounded."""

    def test_delay_is_the_projects_own(self) -> None:
        backoff = Backoff()
        backoff.grow("PROJ", THROTTLING)

        assert backoff.delay("proj") == BASE_DELAY_SECONDS

    def test_delay_is_kept_when_the_projects_are_just_as_many_as_may_be(self) -> None:
        backoff = Backoff({f"P{number}": 1.0 for number in range(MAX_PROJECTS)})

        backoff.grow("P0", CONTENTION)

        assert len(backoff.delays) == MAX_PROJECTS

    def test_delays_start_again_when_there_is_a_project_too_many(self) -> None:
        backoff = Backoff({f"P{number}": 1.0 for number in range(MAX_PROJECTS)})

        backoff.grow("one too many", CONTENTION)

        assert list(backoff.delays) == ["one too many"]
