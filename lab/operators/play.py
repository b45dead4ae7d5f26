"""Plays histories with operators, and sums up what they met."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from operators.scenarios import busy_scenario
from operators.seeded_world import SeededWorld, Wrapper
from simulation.aws.tables import PARTITION_UNITS
from simulation.checks.violations import Check, Violation
from simulation.engine.choices import Choices
from simulation.scenarios.random_scenarios import random_scenario
from simulation.scenarios.scenario import Scenario
from simulation.world.execution_environment import SHIPPED, Algorithm
from simulation.world.world import Outcome

FIFO_EVERY: Final = 4


@dataclass
class Played:
    """The sums over the histories."""

    counts: Counter[str] = field(default_factory=Counter)
    violation: Violation | None = None

    def add(self, world: SeededWorld, outcome: Outcome) -> None:
        """Add what a history met."""
        monitor = world.monitor
        jumps = [jump for project in monitor.jumps.values() for jump in project]
        self.counts += world.outcomes + outcome.history.refusals() + monitor.marked
        self.counts["jumps of a sequence"] += len(jumps)
        self.counts["given between the steps of a seed"] += sum(
            len(jump.given) for jump in jumps
        )
        self.counts["tickets imported"] += sum(map(len, monitor.imported.values()))
        self.counts["refusals contradicted"] += len(world.refusals.contradicted)
        self.violation = outcome.violation

    def breaks(self, check: Check) -> bool:
        """Tell whether the last history broke a promise, and this one first."""
        return self.violation is not None and self.violation.check is check


def play(
    seeds: range,
    algorithm: Algorithm = SHIPPED,
    wrapper: Wrapper = lambda client: client,
    draw: Callable[[Choices], Scenario] | None = None,
) -> Played:
    """Play histories until one breaks a promise."""
    played = Played()
    for number in seeds:
        choices = Choices(number)
        draw_one = draw or (busy_scenario if number % 2 else random_scenario)
        scenario = replace(
            draw_one(choices),
            # With less throughput or in an outage a seed would not end in time.
            partition_units=PARTITION_UNITS,
            outages=(),
            fifo=number % FIFO_EVERY == 0,
        )
        world = SeededWorld(scenario, choices, algorithm, wrapper)
        played.add(world, world.run())
        if played.violation:
            break
    return played
