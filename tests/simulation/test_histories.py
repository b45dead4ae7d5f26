"""The shipped worker in hundreds of histories in which everything fails."""

import os
from typing import Final

import pytest

from simulation.aws.faults import Fault
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
    """Gapless, once per key, announced, nothing lost, whatever fails."""

    def test_no_promise_is_broken_when_anything_may_fail(self, totals: Totals) -> None:
        assert totals.violations == []
        assert totals.counts["histories"] == HISTORIES

    def test_every_fault_happens_when_histories_are_random(
        self, totals: Totals
    ) -> None:
        rarest = min(totals.counts[f"fault: {fault.value.text}"] for fault in Fault)

        assert rarest > HISTORIES / 40

    def test_workers_contend_when_histories_are_random(self, totals: Totals) -> None:
        counts = totals.counts
        assert counts["refused: TransactionConflict"] > HISTORIES / 10
        assert counts["refused: ConditionalCheckFailed"] > HISTORIES / 2
        assert counts["refused: ThrottlingError"] > HISTORIES / 10
        assert counts["refused: TransactionInProgressException"] > HISTORIES / 250

    def test_most_requests_are_numbered_when_histories_are_random(
        self, totals: Totals
    ) -> None:
        assert totals.counts["messages delivered to the queue"] > 8 * HISTORIES
        assert totals.counts["tickets"] > 4 * HISTORIES
        assert totals.counts["faults"] > 4 * HISTORIES


class TestCoverage:
    """The conditions that make numbering hard are met often."""

    def test_conditions_are_met_often_enough_when_histories_are_random(
        self, totals: Totals
    ) -> None:
        """Each interval is twice the observed one, or more."""
        rare = {
            condition: totals.counts[condition]
            for condition, interval in totals.intervals.items()
            if totals.counts[condition] < HISTORIES / interval
        }

        assert totals.intervals
        assert rare == {}
