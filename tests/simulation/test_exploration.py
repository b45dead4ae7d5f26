"""Every state of small configurations, not a sample."""

from io import StringIO

import pytest
from rich.console import Console

from simulation.__main__ import named
from simulation.execution_environment import Algorithm
from simulation.exploration.configurations import (
    CONFIGURATIONS,
    SENT_TWICE,
    TWO_MESSAGES,
    Configuration,
    Findings,
    explore_on_all_cores,
)
from simulation.known_bad.algorithms import (
    ALGORITHMS,
    REPLAY_LEFT_TO_THE_HOLDER,
)
from simulation.violations import Check


@pytest.fixture(scope="module")
def found() -> list[Findings]:
    """Explore the quick configurations, on all cores."""
    quick = [
        configuration for configuration in CONFIGURATIONS if configuration.is_quick
    ]
    return [*explore_on_all_cores(quick)]


def test_configuration_is_named_when_it_is_explored() -> None:
    said = StringIO()
    explored = [Findings(TWO_MESSAGES, 1_234, 2_345, None)]

    assert [*named(explored, Console(file=said))] == explored
    assert said.getvalue() == "two messages: 1,234 states\n"


class TestEveryInterleaving:
    """Two workers, two or three messages: nothing that can happen breaks a promise."""

    def test_no_transition_breaks_a_promise_when_every_state_is_explored(
        self, found: list[Findings]
    ) -> None:
        quick = {
            configuration.name
            for configuration in CONFIGURATIONS
            if configuration.is_quick
        }
        assert {findings.configuration.name for findings in found} == quick != set()
        for findings in found:
            assert findings.violation is None, findings.history
            assert findings.states > 500
            assert findings.transitions > findings.states

    def test_random_walks_meet_nothing_new_when_every_state_is_explored(
        self, found: list[Findings]
    ) -> None:
        """A state that leaves out what a task observed would hide what follows."""
        for findings in found:
            assert findings.missing == 0, findings.configuration.name

    @pytest.mark.parametrize(
        ("configuration", "algorithm", "breaks"),
        [
            # Where a number is guessed, its chain can be wrong before it is missing.
            (TWO_MESSAGES, ALGORITHMS["increment on any cancellation"], Check.CHAIN),
            (SENT_TWICE, REPLAY_LEFT_TO_THE_HOLDER, Check.DELETED_EARLY),
        ],
        ids=["increment", "unannounced"],
    )
    def test_exploration_finds_the_violation_when_the_algorithm_is_known_bad(
        self, configuration: Configuration, algorithm: Algorithm, breaks: Check
    ) -> None:
        found = configuration.explore(algorithm)

        assert found.violation is not None
        assert found.violation.violation is not None
        assert found.violation.violation.check is breaks
