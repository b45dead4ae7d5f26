"""What the published figures rest on: bounds, means over seeds, and prices."""

from typing import Any

import pytest

from benchmarks.costs import SUM, dollars
from benchmarks.counting import Figures, mean_of
from benchmarks.report import digits
from benchmarks.targets import Target


def figures(**members: float) -> Figures:
    """Return what ours comes to on a good day: three requests for ten tickets."""
    good: dict[str, Any] = {
        "requests": 0.3,
        "publishes": 0.1,
        "lookups": 0.0,
        "write_units": 4.0,
        "read_units": 0.1,
        "attempts": 1.0,
        "tickets_a_second": 400.0,
        "bound": 500.0,
        "batches": 0.1,
        "batch_seconds": 0.04,
        "p50": 0.02,
        "p99": 0.03,
        "longest": 0.04,
        "p99_from_sending": 0.03,
        "p99_of_quiet": 0.03,
        "starved": 0,
        "duplicates": 0.0,
    }
    return Figures(**good | members)


class TestTarget:
    """A bound is the most or the least, and within itself."""

    @pytest.mark.parametrize(
        ("measured", "is_least", "is_met"),
        [
            (2.0, False, True),
            (2.1, False, False),
            (2.0, True, True),
            (1.9, True, False),
        ],
    )
    def test_target_is_met_when_the_figure_is_within_the_bound(
        self, measured: float, *, is_least: bool, is_met: bool
    ) -> None:
        target = Target("requests", 2.0, lambda _: measured, is_least)

        assert target.is_met(measured) is is_met


class TestDigits:
    """The model is not more exact than two digits."""

    @pytest.mark.parametrize(
        ("figure", "shown"),
        [
            (446.2, "450"),
            (9.99, "10"),
            (4.004, "4.0"),
            (0.0449, "0.045"),
            (0.0, "0.0"),
            (0, "0"),
        ],
    )
    def test_figure_has_two_digits_when_it_is_shown(
        self, figure: float, shown: str
    ) -> None:
        assert digits(figure) == shown


class TestMeans:
    """Several seeds make one figure."""

    def test_losses_are_summed_when_runs_are_combined(self) -> None:
        """What must never happen is not averaged away."""
        found = mean_of([figures(attempts=1.0), figures(attempts=2.0, starved=10)])

        assert (found.attempts, found.starved) == (1.5, 10)


class TestCosts:
    """Counted requests and units times list prices."""

    def test_million_tickets_cost_what_the_price_list_says(self) -> None:
        """By hand, from AWS's pricing pages."""
        assert dollars(figures())[SUM] == pytest.approx(3.59, abs=0.01)
