"""One bad message harms only itself, also where its key's record is damaged."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from simulation.aws.items import Address
from simulation.aws.tables import KEYS
from simulation.engine.choices import Choices
from simulation.producers import Sending, request
from simulation.scenario import Scenario
from simulation.world import World

REQUESTS: Final = 12
DAMAGED: Final = ("P", "key-3")
ITEM_ID: Final = "#".join(DAMAGED)


@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize(
    "record",
    [{}, {"number": {"N": "0"}}, {"number": {"S": "one"}, "fingerprint": {"N": "1"}}],
    ids=["empty", "number zero", "other types"],
)
def test_neighbours_are_numbered_at_once_when_a_key_record_is_damaged(
    record: Mapping[str, Any], seed: int
) -> None:
    """On a day on which all services work; only the damaged request has no number."""
    bodies = [request("P", f"key-{serial}") for serial in range(REQUESTS)]
    day = Scenario([Sending(0.0, body) for body in bodies], pollers=2, is_fair=True)
    world = World(day, Choices(seed))
    world.services.tables.write(
        Address(KEYS, (ITEM_ID,)), {"id": {"S": ITEM_ID}, **record}
    )
    world.neighbours.damaged.add(DAMAGED)

    outcome = world.run()

    assert outcome.violation is None
    assert outcome.tickets == REQUESTS - 1
