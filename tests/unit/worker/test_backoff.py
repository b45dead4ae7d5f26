"""The delay before the next attempt, which follows how contended a project is."""

import pytest

from tests.support.cleared_meanwhile import ClearedMeanwhile
from ticket_numbering.allocation.backoff import (
    BASE_DELAY_SECONDS,
    MAX_DELAY_SECONDS,
    MAX_PROJECTS,
    MIN_DELAY_SECONDS,
    MIN_THROTTLING_DELAY_SECONDS,
    Backoff,
)
from ticket_numbering.contract.errors import (
    SequenceContentionError,
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)

CONTENTION = SequenceContentionError("contention")
FAILURE = StoreUnavailableError("failure")
THROTTLING = StoreThrottledError("throttling")


@pytest.mark.parametrize("error", [CONTENTION, FAILURE, THROTTLING], ids=str)
def test_delay_grows_with_each_failure_until_the_longest(error: TransientError) -> None:
    backoff = Backoff()

    delays = [backoff.delay("PROJ"), *(backoff.grow("PROJ", error) for _ in range(50))]

    assert delays[0] == BASE_DELAY_SECONDS < delays[1] < delays[2] < delays[-1]
    assert delays == sorted(delays)
    assert delays[-1] == backoff.delay("PROJ") == MAX_DELAY_SECONDS
    assert backoff.delay("proj") == BASE_DELAY_SECONDS


def test_delay_grows_most_when_throttled_and_least_when_contended() -> None:
    errors = CONTENTION, FAILURE, THROTTLING

    contended, failed, throttled = (Backoff().grow("PROJ", error) for error in errors)

    assert contended < failed < throttled == MIN_THROTTLING_DELAY_SECONDS
    assert Backoff({"PROJ": 1.2}).grow("PROJ", THROTTLING) > 5 * 1.2


def test_delay_decays_by_degrees_to_the_shortest_when_blocks_are_committed() -> None:
    """One success does not mean that the contention is over."""
    backoff = Backoff({"PROJ": 1.0, "CALM": MIN_DELAY_SECONDS * 1.1})

    backoff.decay("PROJ")
    backoff.decay("CALM")
    backoff.decay("NEVER-CONTENDED")

    assert 0.5 < backoff.delay("PROJ") < 1.0
    assert backoff.delay("CALM") == MIN_DELAY_SECONDS
    assert backoff.delays.keys() == {"PROJ", "CALM"}


def test_delay_decays_when_another_project_clears_all_meanwhile() -> None:
    backoff = Backoff(ClearedMeanwhile(PROJ=1.0))

    backoff.decay("PROJ")

    assert 0.5 < backoff.delay("PROJ") < 1.0


def test_delays_start_again_when_there_is_a_project_too_many() -> None:
    backoff = Backoff({f"P{number}": 1.0 for number in range(MAX_PROJECTS - 1)})

    for _ in range(2):
        backoff.grow("the last one", CONTENTION)
        assert len(backoff.delays) == MAX_PROJECTS
    backoff.grow("one too many", CONTENTION)

    assert list(backoff.delays) == ["one too many"]
