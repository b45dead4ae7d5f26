"""Small worlds of which every history is played."""

from collections.abc import Sequence
from typing import Final

from tests.simulation.explore import SmallWorld
from tests.simulation.faults import Fault
from tests.simulation.scenario import request

ONE, TWO, THREE = (request("P", key) for key in ("one", "two", "three"))

KINDS: Final = (
    Fault.REFUSED,
    Fault.LOST,
    Fault.LATE,
    Fault.KILLED_BEFORE,
    Fault.KILLED_DURING,
    Fault.DUPLICATED,
)
"""What differs as far as the worker can tell; the others are like one of these."""

TWO_MESSAGES: Final = SmallWorld("two messages", [ONE, TWO], 0)

SMALL_WORLDS: Final[Sequence[SmallWorld]] = (
    TWO_MESSAGES,
    SmallWorld("one message, sent twice", [ONE, ONE], 0),
    SmallWorld("three messages in batches of two", [ONE, TWO, THREE], 0, batch_size=2),
)
