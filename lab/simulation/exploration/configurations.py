"""The configurations whose every state is explored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from simulation.aws.fault_plans import EveryFault
from simulation.aws.faults import Fault
from simulation.aws.latency import Latency
from simulation.engine.tasks import FOREVER
from simulation.execution_environment import SHIPPED, Algorithm
from simulation.exploration.search import (
    ExhaustiveChoices,
    Exploration,
    Graph,
    explore,
)
from simulation.exploration.walks import walk
from simulation.play import all_cores
from simulation.producers import Sending, request
from simulation.scenario import Scenario
from simulation.violations import Violation
from simulation.world import World

WALKS: Final = 300
"""Random walks that check the graph of each configuration."""


@dataclass(frozen=True)
class Configuration:
    """A scenario of two workers, and the faults that can happen in it."""

    name: str
    bodies: Sequence[str]
    faults: int = 0
    """The highest number of faults in a history."""
    kinds: Sequence[Fault] = ()
    """The kinds of faults."""
    batch_size: int = 1
    reverses: bool = False
    """Whether lists that a service may reorder are also tried in reverse."""
    is_quick: bool = False
    """Whether `make test` explores it, too."""

    @property
    def scenario(self) -> Scenario:
        """Everything but chance."""
        return Scenario(
            [Sending(0.0, body) for body in self.bodies],
            pollers=2,
            batch_size=self.batch_size,
            max_receives=2,
            max_attempts=2,
            latency=Latency(0.0, 0.0),
        )

    def world(
        self, choices: ExhaustiveChoices, algorithm: Algorithm = SHIPPED
    ) -> World:
        """Return the world of one run, without botocore's retries and timeouts."""
        faults = EveryFault(choices, self.faults, self.kinds)
        world = World(self.scenario, choices, algorithm, faults)
        world.services.network.attempts = 1
        world.services.network.read_timeout = FOREVER
        world.scheduler.before_choice = lambda: choices.at(world.state)
        return world

    def explore(self, algorithm: Algorithm = SHIPPED) -> Exploration:
        """Explore up to the first violation."""
        make_world = partial(self.world, algorithm=algorithm)
        return explore(make_world, reverses=self.reverses)

    def missing(self, graph: Graph) -> int:
        """Return the number of states and transitions that only random walks meet."""
        return walk(self.world, graph, WALKS, reverses=self.reverses).missing


ONE, TWO, THREE = (request("P", key) for key in ("one", "two", "three"))

TWO_MESSAGES: Final = Configuration("two messages", [ONE, TWO])
SENT_TWICE: Final = Configuration("one message, sent twice", [ONE, ONE])
BATCHES: Final = Configuration(
    "three messages in batches of two", [ONE, TWO, THREE], batch_size=2, is_quick=True
)


def with_faults(
    configuration: Configuration, *kinds: Fault, faults: int = 1, is_quick: bool = False
) -> Configuration:
    """Return the configuration with up to this number of faults of these kinds."""
    listed = "; or ".join(kind.value.text for kind in kinds)
    name = f"{configuration.name}; up to {faults} x {listed}"
    return replace(
        configuration, name=name, kinds=kinds, faults=faults, is_quick=is_quick
    )


CONFIGURATIONS: Final[Sequence[Configuration]] = (
    TWO_MESSAGES,
    SENT_TWICE,
    BATCHES,
    # What differs as far as the worker can tell; other faults are like one of these.
    with_faults(TWO_MESSAGES, Fault.KILLED_BEFORE, is_quick=True),
    with_faults(TWO_MESSAGES, Fault.DUPLICATED),
    with_faults(TWO_MESSAGES, Fault.REFUSED),
    with_faults(TWO_MESSAGES, Fault.KILLED_DURING),
    with_faults(TWO_MESSAGES, Fault.LOST),
    with_faults(TWO_MESSAGES, Fault.LATE),
    with_faults(SENT_TWICE, Fault.KILLED_DURING),
    replace(
        BATCHES,
        name=f"{BATCHES.name}; services work in either order",
        reverses=True,
        is_quick=False,
    ),
    with_faults(
        TWO_MESSAGES,
        Fault.KILLED_BEFORE,
        Fault.KILLED_DURING,
        Fault.DUPLICATED,
        faults=2,
    ),
)


@dataclass(frozen=True)
class Findings:
    """The findings of an exploration."""

    configuration: Configuration
    states: int
    transitions: int
    violation: Violation | None
    history: Sequence[str] = ()
    """The lines of the violation's history."""
    missing: int = 0
    """States and transitions that random walks met, and the exploration did not."""


def explore_and_check(configuration: Configuration) -> Findings:
    """Explore up to the first violation; check the graph with random walks."""
    found = configuration.explore()
    figures = configuration, found.states, found.transitions
    if found.violation:
        lines = found.violation.history.lines()
        return Findings(*figures, found.violation.violation, lines)
    missing = configuration.missing(found.graph)
    return Findings(*figures, None, missing=missing)


def explore_on_all_cores(configurations: Sequence[Configuration]) -> Iterator[Findings]:
    """Explore configurations side by side; yield the findings in their order."""
    with all_cores() as pool:
        yield from pool.map(explore_and_check, configurations)
