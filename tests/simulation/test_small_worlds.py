"""Every history of small worlds, not a sample."""

from typing import Final

import pytest

from simulation.configurations import (
    SMALL_WORLDS,
    TWO_MESSAGES,
    Explored,
    explored_on_all_cores,
    with_faults,
)
from simulation.engine.exploration import SmallWorld, explore
from simulation.faults import Fault
from simulation.totals import WAYS
from simulation.world import quiet

TRIED_IN_VAIN: Final = with_faults(TWO_MESSAGES, Fault.REFUSED, faults=2)


@pytest.fixture(scope="module")
def found() -> list[Explored]:
    """Play the quick worlds, on all cores."""
    return [*explored_on_all_cores([each for each in SMALL_WORLDS if each.is_quick])]


class TestEveryInterleaving:
    """Two workers, two or three messages: nothing that can happen breaks a promise."""

    def test_no_interleaving_breaks_a_promise(self, found: list[Explored]) -> None:
        """Their number changes with the code; docs/proof.md has it."""
        assert len(found) == 5
        for each in found:
            assert each.violation is None, each.story
            assert each.states > 300
            assert each.histories > 200_000

    @pytest.mark.parametrize(
        ("world", "way"),
        [
            (TWO_MESSAGES, "increment on any cancellation"),
            (TRIED_IN_VAIN, "a number remembered from a block only tried"),
        ],
        ids=["increment", "remembered"],
    )
    def test_exploration_finds_a_gap_when_the_algorithm_is_wrong(
        self, world: SmallWorld, way: str
    ) -> None:
        """The classic bug, and the one that a memory invites."""
        with quiet():
            found = explore(world, WAYS[way])

        assert found.violation is not None
        assert "was committed after" in str(found.violation.violation)
