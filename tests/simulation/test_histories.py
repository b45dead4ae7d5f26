"""The real worker, in thousands of histories in which everything goes wrong."""

import os
from typing import Final

import pytest

from simulation.faults import Fault
from simulation.totals import Totals, play_on_all_cores

HISTORIES: Final = int(os.environ.get("SIMULATED_HISTORIES", "3000"))


@pytest.fixture(scope="module")
def totals() -> Totals:
    """Play the histories of the first seeds, on all cores."""
    totals = Totals()
    for some in play_on_all_cores(range(1, HISTORIES + 1)):
        totals += some
    return totals


class TestEveryPromise:
    """Gapless, once per key, announced, nothing lost, whatever goes wrong."""

    def test_no_history_breaks_a_promise(self, totals: Totals) -> None:
        """See `monitor.py` for what is checked, and when."""
        assert totals.violations == []
        assert totals.histories == HISTORIES

    def test_every_fault_was_injected(self, totals: Totals) -> None:
        """A fault that never happens proves nothing."""
        rarest = min(totals.faults[fault] for fault in Fault)

        assert rarest > HISTORIES / 20

    def test_workers_meet_in_the_middle(self, totals: Totals) -> None:
        """Conflicts, collisions, throttles, and answers that are still to come."""
        assert totals.refusals["TransactionConflict"] > HISTORIES / 10
        assert totals.refusals["ConditionalCheckFailed"] > HISTORIES / 2
        assert totals.refusals["ThrottlingError"] > HISTORIES / 10
        assert totals.refusals["TransactionInProgressException"] > HISTORIES / 100

    def test_histories_are_rich(self, totals: Totals) -> None:
        """Many messages a history, and most requests get their ticket."""
        assert totals.messages > 8 * HISTORIES
        assert totals.tickets > 4 * HISTORIES
        assert totals.faults.total() > 4 * HISTORIES
