"""Plays histories with operators, and sums up what they met."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Self

from operators.scenarios import busy_scenario
from operators.seeded_world import SeededWorld, Wrapper
from simulation.aws.tables import PARTITION_UNITS
from simulation.checks.violations import Invariant, Violation
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
    last: int = 0
    """The seed of the last history."""

    def __iadd__(self, other: "Played") -> Self:
        """Add the sums over the histories after these."""
        self.counts += other.counts
        self.violation, self.last = other.violation, other.last
        return self

    def add(self, world: SeededWorld, outcome: Outcome) -> None:
        """Add what a history met."""
        monitor = world.monitor
        jumps = [jump for project in monitor.jumps.values() for jump in project]
        self.counts += world.outcomes + outcome.history.refusals() + monitor.marked
        self.counts["histories"] += 1
        self.counts["faults"] += outcome.counts["faults"]
        self.counts["jumps of a sequence"] += len(jumps)
        self.counts["given between the steps of a seed"] += sum(
            len(jump.given) for jump in jumps
        )
        self.counts["tickets imported"] += sum(map(len, monitor.imported.values()))
        self.counts["refusals contradicted"] += len(world.refusals.contradicted)
        self.violation = outcome.violation

    def breaks(self, check: Invariant) -> bool:
        """Tell whether the last history broke a promise, and this one first."""
        return self.violation is not None and self.violation.check is check


def world_of(
    seed: int,
    algorithm: Algorithm = SHIPPED,
    wrapper: Wrapper = lambda client: client,
    draw: Callable[[Choices], Scenario] | None = None,
) -> SeededWorld:
    """Return the world of a seed."""
    choices = Choices(seed)
    draw = draw or (busy_scenario if seed % 2 else random_scenario)
    scenario = replace(
        draw(choices),
        # With less throughput or in an outage a seed would not end in time.
        partition_units=PARTITION_UNITS,
        outages=(),
        fifo=seed % FIFO_EVERY == 0,
    )
    return SeededWorld(scenario, choices, algorithm, wrapper)


def play(
    seeds: range,
    algorithm: Algorithm = SHIPPED,
    wrapper: Wrapper = lambda client: client,
    draw: Callable[[Choices], Scenario] | None = None,
) -> Played:
    """Play histories until one breaks a promise."""
    played = Played()
    for played.last in seeds:
        world = world_of(played.last, algorithm, wrapper, draw)
        played.add(world, world.run())
        if played.violation:
            break
    return played
