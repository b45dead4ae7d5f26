"""Every history of small worlds, not a sample."""

import pytest

from tests.simulation.explore import explore
from tests.simulation.small_worlds import (
    SMALL_WORLDS,
    TWO_MESSAGES,
    Explored,
    explored_on_all_cores,
)
from tests.simulation.world import quiet
from tests.simulation.wrong_ways import WRONG_WAYS


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
            assert each.histories > 500_000

    def test_exploration_finds_the_classic_bug(self) -> None:
        """To increment on a conflict leaves a gap in one of them."""
        with quiet():
            found = explore(TWO_MESSAGES, WRONG_WAYS[0])

        assert found.violation is not None
        assert "was committed after" in str(found.violation.violation)
