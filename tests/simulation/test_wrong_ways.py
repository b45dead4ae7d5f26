"""Algorithms that are known to be wrong: a simulation that let them pass were none."""

from typing import Final

import pytest

from simulation.environment import Way
from simulation.known_bad.algorithms import RIGHT_WAYS, WRONG_WAYS
from simulation.totals import first_violation, play_all

SEEDS: Final = 600
"""Each was caught within 300 when this was written; see docs/proof.md."""

SEEDS_OF_RIGHT_WAYS: Final = 200


def named(way: Way) -> str:
    """Return what a test calls it."""
    return way.name


class TestWrongWays:
    """Each of them breaks a promise before long."""

    @pytest.mark.parametrize("way", WRONG_WAYS, ids=named)
    def test_wrong_way_is_caught(self, way: Way) -> None:
        """The number of seeds until then stands in docs/proof.md."""
        assert first_violation(way, SEEDS)


class TestRightWays:
    """What differs from the real code only in what it costs is not accused."""

    @pytest.mark.parametrize("way", RIGHT_WAYS, ids=named)
    def test_right_way_is_let_pass(self, way: Way) -> None:
        """The wrong ways are not caught by a simulation that accuses everybody."""
        assert play_all(range(1, SEEDS_OF_RIGHT_WAYS + 1), way).violations == []
