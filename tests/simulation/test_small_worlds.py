"""Every state of small worlds, not a sample."""

from typing import Final

import pytest

from simulation.configurations import (
    SENT_TWICE,
    SMALL_WORLDS,
    TWO_MESSAGES,
    Explored,
    explored_on_all_cores,
    with_faults,
)
from simulation.engine.exploration import SmallWorld, explore
from simulation.environment import Way
from simulation.faults import Fault
from simulation.known_bad.algorithms import REPLAY_LEFT_TO_THE_HOLDER
from simulation.totals import WAYS
from simulation.world import quiet

TRIED_IN_VAIN: Final = with_faults(TWO_MESSAGES, Fault.REFUSED, faults=2)


@pytest.fixture(scope="module")
def found() -> list[Explored]:
    """Explore the quick worlds, on all cores."""
    return [*explored_on_all_cores([each for each in SMALL_WORLDS if each.is_quick])]


class TestEveryInterleaving:
    """Two workers, two or three messages: nothing that can happen breaks a promise."""

    def test_no_transition_breaks_a_promise(self, found: list[Explored]) -> None:
        """Their number changes with the code; docs/proof.md has it."""
        assert len(found) == 5
        for each in found:
            assert each.violation is None, each.story
            assert each.states > 500
            assert each.transitions > each.states

    def test_random_walks_meet_nothing_that_was_not_explored(
        self, found: list[Explored]
    ) -> None:
        """A state that leaves out what a task was told would hide what follows."""
        assert {each.world.name: each.missing for each in found} == {
            each.world.name: 0 for each in found
        }

    @pytest.mark.parametrize(
        ("world", "way", "broken"),
        [
            (
                TWO_MESSAGES,
                WAYS["increment on any cancellation"],
                "was committed after",
            ),
            (
                TRIED_IN_VAIN,
                WAYS["a number remembered from a block only tried"],
                "was committed after",
            ),
            (
                SENT_TWICE,
                REPLAY_LEFT_TO_THE_HOLDER,
                "was deleted before it was done",
            ),
        ],
        ids=["increment", "remembered", "unannounced"],
    )
    def test_exploration_finds_the_violation_when_the_algorithm_is_known_bad(
        self, world: SmallWorld, way: Way, broken: str
    ) -> None:
        """The classic bug, one that a cache invites, and one in what is told."""
        with quiet():
            found = explore(world, way)

        assert found.violation is not None
        assert broken in str(found.violation.violation)
