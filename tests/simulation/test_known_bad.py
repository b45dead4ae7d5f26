"""The simulation catches known-bad algorithms, and accuses no correct one."""

import re
from operator import attrgetter
from typing import Final

import pytest

from simulation.aws.tables import PAST
from simulation.known_bad.algorithms import (
    ALGORITHMS,
    CORRECT_BUT_COSTLY,
    KNOWN_BAD,
    RARE,
    STALE_READS,
)
from simulation.play import play, play_all
from simulation.world.execution_environment import Algorithm
from tests.support.markdown_commands import ROOT

SEEDS: Final = 75
"""docs/proof.md names it."""

SEEDS_OF_CORRECT: Final = 30

QUICK: Final = [algorithm for algorithm in KNOWN_BAD if algorithm.name not in RARE]


class TestKnownBadAlgorithms:
    """Each of them breaks a promise before long."""

    @pytest.mark.parametrize("algorithm", QUICK, ids=attrgetter("name"))
    def test_violation_is_found_when_the_algorithm_is_known_bad(
        self, algorithm: Algorithm
    ) -> None:
        outcomes = (play(seed, algorithm) for seed in range(1, SEEDS + 1))

        first = next(one.violation for one in outcomes if one.violation)

        assert first.check is algorithm.breaks, first

    def test_documented_history_breaks_a_promise(self) -> None:
        page = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")
        [(seed, name)] = re.findall(r'SEED=(\d+) ALGORITHM="([^"]+)"', page)

        assert play(int(seed), ALGORITHMS[name]).violation

    def test_rare_ones_alone_are_left_out(self) -> None:
        assert len(QUICK) == len(KNOWN_BAD) - len(RARE)


class TestCorrectAlgorithms:
    """What differs from the shipped algorithm only in its costs is not accused."""

    @pytest.mark.parametrize("algorithm", CORRECT_BUT_COSTLY, ids=attrgetter("name"))
    def test_no_violation_is_found_when_the_algorithm_only_costs_more(
        self, algorithm: Algorithm
    ) -> None:
        assert play_all(range(1, SEEDS_OF_CORRECT + 1), algorithm).violations == []

    def test_past_is_read_when_reads_are_stale(self) -> None:
        """Else it would be no wonder that nothing is found."""
        assert play_all(range(1, 11), STALE_READS).counts[PAST] > 0
