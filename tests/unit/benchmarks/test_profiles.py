"""The latency profiles: a transaction's time, and the bound."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.profiles import (
    FEW_MS,
    MANY_MS,
    MEASURED,
    PROFILES,
    TRANSACTION_CLIENT_MS,
)
from benchmarks.workloads import FAIR, FIFO, Workload


@pytest.mark.parametrize(("items", "measured"), [(5, FEW_MS), (25, MANY_MS)])
def test_transaction_takes_the_published_time_when_its_size_was_measured(
    items: int, measured: Sequence[float]
) -> None:
    """Less the client's part; in the slow profile twice as long."""
    expected = [(value - TRANSACTION_CLIENT_MS) / 1000 for value in measured]
    slow = PROFILES["slow"].transaction(items).values

    assert MEASURED.transaction(items).values == pytest.approx(expected)
    assert slow == pytest.approx([2 * value for value in expected])


class TestBound:
    """The tickets a second that no policy exceeds."""

    def test_bound_is_the_ceiling_of_a_partition_when_the_workers_are_faster(
        self,
    ) -> None:
        workload = Workload(10, batch_size=35)

        assert workload.bound(PROFILES["fast"]) == 500

    def test_bound_is_the_workers_when_a_project_has_one(self) -> None:
        """By hand: 20 ms of overhead, two calls of 5 ms, a transaction of 15."""
        fast = PROFILES["fast"]

        assert Workload(1).bound(fast) == pytest.approx(10 / 0.045)
        assert Workload(10, queue=FIFO).bound(fast) == Workload(1).bound(fast)
        assert Workload(2).bound(fast) == pytest.approx(20 / 0.045)

    def test_bound_is_that_of_sequence_and_texts_when_workers_wait(self) -> None:
        """Each block takes a read's answer and a write, however many workers wait."""
        slow = PROFILES["slow"]
        real = Workload(10, batch_size=35, has_real_texts=True)

        assert Workload(10).bound(slow) == Workload(100).bound(slow)
        assert Workload(10).bound(slow) < 10 / slow.transaction(20).mean * 1.2
        assert 320 < real.bound(PROFILES["fast"]) < 370

    def test_bound_is_that_of_the_busiest_project_when_others_have_tickets_too(
        self,
    ) -> None:
        """Of two batches one has it, in perfect order: twice its own throughput."""
        fast = PROFILES["fast"]
        often = Workload(100, batch_size=1, projects=3, weights=(2.0, 1.0, 1.0))
        grouped = replace(often, queue=FAIR)

        assert often.bound(fast) == pytest.approx(
            2 * Workload(100, batch_size=1).bound(fast)
        )
        assert grouped.bound(fast) > often.bound(fast)
