"""Targets, means and costs: the arithmetic over figures."""

import pytest

from benchmarks.costs import dollars
from benchmarks.figures import Figures, mean_of, percentile
from benchmarks.targets import Target


def figures(**members: float) -> Figures:
    """Return what ours comes to on a good day: three requests for ten tickets."""
    good = {
        "requests": 0.3,
        "publishes": 0.1,
        "lookups": 0.0,
        "write_units": 4.0,
        "read_units": 0.1,
        "attempts": 1.0,
        "tickets_a_second": 400.0,
        "batches": 0.1,
        "batch_seconds": 0.04,
        "p50": 0.02,
        "p99": 0.03,
        "longest": 0.04,
        "p99_from_sending": 0.03,
        "starved": 0,
        "gaps": 0,
        "duplicates": 0,
    }
    return Figures(**good | members)  # type: ignore[arg-type]


class TestTarget:
    """A bound is the most or the least."""

    @pytest.mark.parametrize(("measured", "is_met"), [(2.0, True), (2.1, False)])
    def test_target_is_met_when_the_figure_is_at_most_the_bound(
        self, measured: float, *, is_met: bool
    ) -> None:
        """The bound itself is within."""
        assert Target("requests", 2.0, measured).is_met is is_met

    @pytest.mark.parametrize(("measured", "is_met"), [(2.0, True), (1.9, False)])
    def test_target_is_met_when_the_figure_is_at_least_the_bound(
        self, measured: float, *, is_met: bool
    ) -> None:
        """The bound itself is within."""
        assert Target("share", 2.0, measured, is_least=True).is_met is is_met


class TestMeans:
    """Several seeds make one figure."""

    def test_rates_are_means_and_losses_are_sums_when_runs_are_combined(self) -> None:
        """What must never happen is not averaged away."""
        runs = [figures(attempts=1.0, starved=0), figures(attempts=2.0, starved=10)]

        found = mean_of(runs)

        assert (found.attempts, found.starved, found.runs) == (1.5, 10, 2)

    def test_longest_wait_is_that_of_all_runs(self) -> None:
        """A mean of maxima would hide it."""
        found = mean_of([figures(longest=1.0), figures(longest=9.0)])

        assert found.longest == 9.0

    def test_percentile_is_a_value_that_was_measured(self) -> None:
        """And 0 where nothing was."""
        assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
        assert percentile([], 0.99) == 0.0


class TestCosts:
    """Counted requests and units times list prices."""

    def test_million_tickets_cost_what_the_price_list_says(self) -> None:
        """Reckoned by hand from AWS's pricing pages."""
        found = dollars(figures())

        assert found == pytest.approx(
            {
                "DynamoDB": 2.5125,
                "SQS": 0.60,
                "SNS": 0.05,
                "Lambda": 0.0467,
                "Logs": 0.384,
            },
            rel=0.01,
        )

    def test_queue_requests_are_shared_by_ten_when_batches_are_larger(self) -> None:
        """SQS receives and deletes ten messages at most."""
        assert dollars(figures(batches=0.02))["SQS"] == dollars(figures())["SQS"]
