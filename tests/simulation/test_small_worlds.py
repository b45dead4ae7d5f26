"""Every history of small worlds, not a sample."""

import pytest

from tests.simulation.explore import SmallWorld, explore
from tests.simulation.small_worlds import SMALL_WORLDS, TWO_MESSAGES
from tests.simulation.world import quiet
from tests.simulation.wrong_ways import WRONG_WAYS

QUICK = [world for world in SMALL_WORLDS if world.is_quick]


class TestEveryInterleaving:
    """Two workers, two or three messages: nothing that can happen breaks a promise."""

    @pytest.mark.parametrize("world", QUICK, ids=lambda world: world.name)
    def test_no_interleaving_breaks_a_promise(self, world: SmallWorld) -> None:
        """How many there are is a fact about the model and the code; it may change."""
        with quiet():
            found = explore(world)

        assert found.violation is None
        assert found.graph.histories() == world.histories

    def test_exploration_finds_the_classic_bug(self) -> None:
        """To increment on a conflict leaves a gap in one of them."""
        with quiet():
            found = explore(TWO_MESSAGES, WRONG_WAYS[0])

        assert found.violation is not None
        assert "was committed after" in str(found.violation.violation)
