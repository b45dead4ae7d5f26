"""`docs/examples/verify.py` on what the shipped worker wrote."""

from collections import defaultdict
from typing import Any, Final

from simulation.aws.items import plain
from simulation.aws.tables import TICKETS
from simulation.engine.choices import Choices
from simulation.scenarios.random_scenarios import random_scenario
from simulation.world.world import World
from tests.support.evidence import verifier
from tests.support.seeded_world import SeededWorld

HISTORIES: Final = 30


def by_project(world: World) -> dict[str, list[Any]]:
    """Return the tickets of a history when it has ended."""
    projects = defaultdict(list)
    for item in world.services.tables.items(TICKETS):
        projects[str(plain(item["project_id"]))].append(item)
    return projects


def test_verifier_finds_nothing_but_dates_of_clocks_that_differ_too_much() -> None:
    """With faults and two releases; half of the histories with operators."""
    verify, chained = verifier(), 0
    for seed in range(1, HISTORIES + 1):
        choices = Choices(seed)
        make = SeededWorld if seed % 2 else World
        world = make(random_scenario(choices), choices)
        world.run()

        found: list[str] = []
        for items in by_project(world).values():
            found += verify(items)
            chained += sum("chain" in item for item in items)
        dates = [
            one for one in found if one.endswith("dated before the ticket before it")
        ]
        assert (found, len(found)) == (dates, world.chains.dates_back)
    assert chained > HISTORIES
