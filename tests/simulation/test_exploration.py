"""Every state of small configurations, not a sample."""

from functools import partial
from operator import attrgetter

import pytest

from simulation.exploration.configurations import (
    CONFIGURATIONS,
    WALKS,
    Configuration,
    Findings,
    explore_on_all_cores,
)
from simulation.exploration.search import ExhaustiveChoices, explore
from simulation.exploration.walks import walk
from simulation.world.world import World


@pytest.fixture(scope="module")
def found() -> list[Findings]:
    """Explore every configuration, on all cores."""
    return [*explore_on_all_cores()]


class TestEveryInterleaving:
    """Two workers, two or three messages: nothing that can happen breaks a promise."""

    def test_no_transition_breaks_a_promise_when_every_state_is_explored(
        self, found: list[Findings]
    ) -> None:
        assert len(found) == len(CONFIGURATIONS)
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

    def test_random_walks_meet_something_new_when_a_state_leaves_out_the_services(
        self,
    ) -> None:
        [configuration, *_] = CONFIGURATIONS

        def world(choices: ExhaustiveChoices) -> World:
            made = configuration.world(choices)
            made.scheduler.before_choice = partial(choices.at, made.scheduler.state)
            return made

        assert walk(world, explore(world).graph, walks=WALKS).missing > 0

    @pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=attrgetter("name"))
    def test_exploration_finds_the_violation_when_the_algorithm_is_known_bad(
        self, configuration: Configuration
    ) -> None:
        found = configuration.explore(configuration.finds)

        assert found.violation is not None
        assert found.violation.violation is not None
        assert found.violation.violation.check is configuration.finds.breaks
