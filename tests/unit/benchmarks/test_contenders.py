"""The contenders on the model: what each costs undisturbed, and who numbers right."""

from dataclasses import replace

import pytest

from benchmarks.cells import CALM, TWICE
from benchmarks.contenders import CONTENDERS, OURS, TEXTBOOK
from benchmarks.figures import Figures
from benchmarks.model_run import play
from benchmarks.workloads import Workload

SHORT = 0.2

# Requests and write units of a ticket that nobody was in the way of.
COSTS = {
    OURS: (0.3, 4.0),
    TEXTBOOK: (3.0, 1.0),
    "locked-counter": (3.0, 4.0),
    "add-counter": (3.0, 2.0),
    "powertools": (5.0, 3.0),
}


def played(contender: str, workload: Workload) -> Figures:
    """Play a short run."""
    return play(contender, workload, seed=1, scale=SHORT)


class TestUndisturbed:
    """One worker, nobody in its way."""

    @pytest.mark.parametrize("contender", CONTENDERS)
    def test_requests_and_units_are_the_algorithm_s_when_nobody_contends(
        self, contender: str
    ) -> None:
        """No more and no less than its source says."""
        found = played(contender, replace(CALM, rate=5.0))

        assert (found.requests, found.write_units) == pytest.approx(
            COSTS[contender], rel=0.1
        )
        assert (found.attempts, found.duplicates) == (1.0, 0)


class TestRedelivered:
    """Messages come again after they were done."""

    @pytest.mark.parametrize("contender", [OURS, "powertools"])
    def test_request_has_one_number_when_keys_are_kept(self, contender: str) -> None:
        """However often it comes."""
        assert played(contender, TWICE).duplicates == 0

    @pytest.mark.parametrize("contender", [TEXTBOOK, "locked-counter", "add-counter"])
    def test_request_has_two_numbers_when_keys_are_not_kept(
        self, contender: str
    ) -> None:
        """Each delivery gets a number of its own."""
        assert played(contender, TWICE).duplicates > 0


class TestWorkload:
    """Options of a workload do to the run what they say."""

    def test_batches_take_longer_when_there_is_overhead(self) -> None:
        """By at least the least of the range, and little more than the most."""
        calm = replace(CALM, rate=2.0)

        slowed = played(OURS, replace(calm, overhead=(0.1, 0.2)))

        added = slowed.batch_seconds - played(OURS, calm).batch_seconds
        assert 0.09 < added < 0.21

    def test_batches_are_fuller_when_there_is_a_window(self) -> None:
        """Messages that come one by one wait for each other."""
        singly = Workload(workers=2, rate=50.0)

        assert played(OURS, singly).batches > 0.5
        assert played(OURS, replace(singly, window=1.0)).batches < 0.15
