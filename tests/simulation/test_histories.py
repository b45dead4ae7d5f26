"""The shipped worker in thousands of histories in which everything fails."""

import os
from typing import Final

import pytest

from simulation.coverage import (
    BATCHES,
    BLOCKS,
    FAIR_DAYS,
    FAIR_DELIVERIES,
    KEYS_BY_CASE,
    KEYS_BY_END,
    LATE_ANNOUNCEMENTS,
    LATE_COMMITS,
    OUTAGE_MINUTES,
    PROJECTS_BY_CASE,
    PROJECTS_LIKE_TICKETS,
    SHARED_KEYS,
    SHORT_VISIBILITY,
    WITH_ATTRIBUTES,
    WRONG_CLOCKS,
    outages_of,
    tickets_with,
)
from simulation.faults import SERVICES, Fault
from simulation.requests import OPTIONAL
from simulation.totals import Totals, play_on_all_cores

HISTORIES: Final = int(os.environ.get("SIMULATED_HISTORIES", "2000"))


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
        assert totals.histories == HISTORIES

    def test_every_fault_happens_when_histories_are_random(
        self, totals: Totals
    ) -> None:
        rarest = min(totals.faults[fault] for fault in Fault)

        assert rarest > HISTORIES / 20

    def test_workers_contend_when_histories_are_random(self, totals: Totals) -> None:
        assert totals.refusals["TransactionConflict"] > HISTORIES / 10
        assert totals.refusals["ConditionalCheckFailed"] > HISTORIES / 2
        assert totals.refusals["ThrottlingError"] > HISTORIES / 10
        assert totals.refusals["TransactionInProgressException"] > HISTORIES / 100

    def test_most_requests_are_numbered_when_histories_are_random(
        self, totals: Totals
    ) -> None:
        assert totals.messages > 8 * HISTORIES
        assert totals.tickets > 4 * HISTORIES
        assert totals.faults.total() > 4 * HISTORIES


class TestCoverage:
    """The conditions that make numbering hard are met often."""

    @pytest.mark.parametrize(
        ("row", "interval"),
        [
            (BLOCKS[10], 20),
            (BLOCKS[49], 20),
            (BLOCKS[50], 20),
            (BATCHES[50], 10),
            (BATCHES[130], 10),
            (BATCHES[1000], 60),
            (LATE_COMMITS, 400),
            (LATE_ANNOUNCEMENTS, 50),
            (SHARED_KEYS, 10),
            (PROJECTS_BY_CASE, 10),
            (PROJECTS_LIKE_TICKETS, 30),
            (KEYS_BY_CASE, 10),
            (KEYS_BY_END, 2),
            *((tickets_with(name), 2) for name in OPTIONAL),
            (WITH_ATTRIBUTES, 1),
            (SHORT_VISIBILITY, 5),
            (WRONG_CLOCKS, 3),
            *((outages_of(service), 40) for service in SERVICES),
            (OUTAGE_MINUTES, 1),
            (FAIR_DAYS, 20),
            (FAIR_DELIVERIES, 1),
        ],
    )
    def test_condition_is_met_often_enough_when_histories_are_random(
        self, totals: Totals, row: str, interval: int
    ) -> None:
        """The interval is twice the observed one, or more; see docs/proof.md."""
        assert totals.coverage[row] >= HISTORIES / interval
