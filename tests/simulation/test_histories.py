"""The shipped worker in hundreds of histories in which everything fails."""

import os
from typing import Final

import pytest

from simulation.play import Totals, play_on_all_cores

HISTORIES: Final = int(os.environ.get("SIMULATED_HISTORIES", "600"))


@pytest.fixture(scope="module")
def totals() -> Totals:
    """Play the histories of the first seeds, on all cores."""
    totals = Totals()
    for chunk in play_on_all_cores(range(1, HISTORIES + 1)):
        totals += chunk
    return totals


class TestEveryPromise:
    """Gapless, once per key, announced, nothing lost, under every fault."""

    def test_no_promise_is_broken_when_anything_may_fail(self, totals: Totals) -> None:
        assert totals.violations == []
        assert totals.counts["histories"] == HISTORIES


class TestCoverage:
    """The conditions that make numbering hard are met often."""

    def test_conditions_are_met_often_enough_when_histories_are_random(
        self, totals: Totals
    ) -> None:
        """Each interval is twice the observed one, or more."""
        rare = {
            condition: totals.met[condition]
            for condition, interval in totals.intervals.items()
            if totals.met[condition] < HISTORIES / interval
        }

        assert totals.intervals
        assert rare == {}
