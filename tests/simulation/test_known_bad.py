"""The simulation catches known-bad algorithms, and accuses no correct one."""

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

import pytest

from simulation.aws.latency import Latency
from simulation.aws.tables import PAST
from simulation.checks.violations import Violation
from simulation.engine.choices import Choices
from simulation.known_bad.algorithms import (
    ALGORITHMS,
    CORRECT_BUT_COSTLY,
    KNOWN_BAD,
    RARE,
    STALE_READS,
)
from simulation.play import play, play_all
from simulation.scenarios.producers import Sending, request
from simulation.scenarios.scenario import Scenario
from simulation.world.execution_environment import SHIPPED, Algorithm
from simulation.world.world import World
from tests.support.paths import ROOT

SEEDS: Final = 75
"""docs/proof.md names it."""

SEEDS_OF_CORRECT: Final = 30

QUICK: Final = [algorithm for algorithm in KNOWN_BAD if algorithm.name not in RARE]

SMALL: Final = {
    "a replay found beside a conflict is not announced": [request("P", "one")] * 2,
    "a cap is refused on a half-seen block": [request("P", "one", max_number=1)] * 2,
    "a collision is taken for progress": [request("P", key) for key in "abc"],
}
"""Messages in which a known-bad algorithm is soon found, by its name."""

SEEDS_OF_SMALL: Final = 125


class TestKnownBadAlgorithms:
    """Each of them breaks a promise before long."""

    @pytest.mark.parametrize("algorithm", QUICK, ids=attrgetter("name"))
    def test_violation_is_found_when_the_algorithm_is_known_bad(
        self, algorithm: Algorithm
    ) -> None:
        outcomes = (play(seed, algorithm) for seed in range(1, SEEDS + 1))

        first = next(outcome.violation for outcome in outcomes if outcome.violation)

        assert first.check is algorithm.breaks, first

    @pytest.mark.parametrize("name", SMALL)
    def test_small_scenario_finds_its_algorithm_and_does_not_accuse_the_shipped_one(
        self, name: str
    ) -> None:
        algorithm = ALGORITHMS[name]

        first = next(_play_small(SMALL[name], algorithm))

        assert first.check is algorithm.breaks, first
        assert [*_play_small(SMALL[name], SHIPPED)] == []

    def test_documented_history_breaks_a_promise(self) -> None:
        page = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")
        [(seed, name)] = re.findall(r'SEED=(\d+) ALGORITHM="([^"]+)"', page)

        assert play(int(seed), ALGORITHMS[name]).violation


class TestCorrectAlgorithms:
    """An algorithm that only costs more breaks no promise."""

    @pytest.mark.parametrize("algorithm", CORRECT_BUT_COSTLY, ids=attrgetter("name"))
    def test_no_violation_is_found_when_the_algorithm_only_costs_more(
        self, algorithm: Algorithm
    ) -> None:
        assert play_all(range(1, SEEDS_OF_CORRECT + 1), algorithm).violations == []

    def test_past_is_read_when_reads_are_stale(self) -> None:
        """Else it would be no wonder that nothing is found."""
        assert play_all(range(1, 11), STALE_READS).counts[PAST] > 0


def _play_small(bodies: list[str], algorithm: Algorithm) -> Iterator[Violation]:
    """Yield the violations of two workers without faults."""
    scenario = Scenario(
        [Sending(0.0, body) for body in bodies],
        batch_size=1,
        max_receives=2,
        max_attempts=2,
        latency=Latency(0.0, 0.0),
    )
    for seed in range(1, SEEDS_OF_SMALL + 1):
        outcome = World(scenario, Choices(seed), algorithm).run()
        if outcome.violation:
            yield outcome.violation
