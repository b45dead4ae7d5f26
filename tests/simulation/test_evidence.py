"""`docs/examples/verify.py` finds nothing in what the shipped worker wrote."""

from collections import defaultdict
from typing import Any, Final

from simulation.aws.items import plain
from simulation.aws.tables import TICKETS
from simulation.engine.choices import Choices
from simulation.random_scenarios import random_scenario
from simulation.world import World
from tests.support.evidence import verifier
from tests.support.seeded_world import SeededWorld

HISTORIES: Final = 30


def by_project(world: World) -> dict[str, list[Any]]:
    """Return the tickets of a history when it has ended."""
    projects = defaultdict(list)
    for item in world.services.tables.items(TICKETS):
        projects[str(plain(item["project_id"]))].append(item)
    return projects


def test_verifier_finds_nothing_in_the_tables_of_the_histories() -> None:
    """With faults, wrong clocks and two releases; half of them with operators."""
    verify, chained = verifier(), 0
    for seed in range(1, HISTORIES + 1):
        choices = Choices(seed)
        make = SeededWorld if seed % 2 else World
        world = make(random_scenario(choices), choices)
        world.run()

        for items in by_project(world).values():
            assert verify(items) == []
            chained += sum("chain" in item for item in items)
    assert chained > HISTORIES
