"""`docs/examples/verify.py` on the tables of the shipped worker."""

from collections import defaultdict
from typing import Any, Final

from operators.seeded_world import SeededWorld
from simulation.aws.items import plain
from simulation.aws.tables import TICKETS
from simulation.checks.monitor import FOREIGN
from simulation.engine.choices import Choices
from simulation.scenarios.random_scenarios import random_scenario
from simulation.world.world import World
from tests.support.evidence import verifier

HISTORIES: Final = 30

DATED_BEFORE: Final = "dated before the ticket before it"
NOT_COVERED: Final = "it has an attribute or a status that no hash covers"


def by_project(world: World) -> dict[str, list[Any]]:
    """Return the tickets of a history when it has ended."""
    projects = defaultdict(list)
    for item in world.services.tables.items(TICKETS):
        projects[str(plain(item["project_id"]))].append(item)
    return projects


def test_verifier_finds_only_dates_too_far_apart_and_what_a_later_release_adds() -> (
    None
):
    """With faults and two releases; half of the histories with operators."""
    verify, chained = verifier(), 0
    for seed in range(1, HISTORIES + 1):
        choices = Choices(seed)
        make = SeededWorld if seed % 2 else World
        world = make(random_scenario(choices), choices)
        world.run()

        problems: list[str] = []
        later: list[str] = []
        for project, items in by_project(world).items():
            problems += verify(items)
            tickets = [item for item in items if "chain" in item]
            chained += len(tickets)
            later += [
                f"{project}-{ticket['number']['N']}: {NOT_COVERED}"
                for ticket in tickets
                if FOREIGN in ticket
            ]
        dates = [problem for problem in problems if problem.endswith(DATED_BEFORE)]
        others = sorted(problem for problem in problems if problem not in dates)
        assert (others, len(dates)) == (sorted(later), world.chains.dates_back)
    assert chained > HISTORIES
