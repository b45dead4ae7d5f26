"""The configurations whose every state is explored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from simulation.aws.latency import Latency
from simulation.checks.violations import Violation
from simulation.engine.tasks import FOREVER
from simulation.exploration.search import (
    ExhaustiveChoices,
    Exploration,
    Graph,
    explore,
)
from simulation.exploration.walks import walk
from simulation.known_bad.algorithms import (
    ALGORITHMS,
    REPLAY_LEFT_TO_THE_HOLDER,
)
from simulation.play import all_cores
from simulation.scenarios.producers import Sending, request
from simulation.scenarios.scenario import Scenario
from simulation.world.execution_environment import SHIPPED, Algorithm
from simulation.world.world import World

WALKS: Final = 300
"""Random walks that check the graph of each configuration."""


@dataclass(frozen=True)
class Configuration:
    """A scenario of two workers in which all but the order of events is fixed."""

    name: str
    bodies: Sequence[str]
    finds: Algorithm
    """A known-bad algorithm that it alone finds, or finds soonest by far."""
    batch_size: int = 1

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
        """Return the world of one run, without timeouts."""
        world = World(self.scenario, choices, algorithm)
        world.services.network.read_timeout = FOREVER
        world.scheduler.before_choice = lambda: choices.at(world.state)
        return world

    def explore(self, algorithm: Algorithm = SHIPPED) -> Exploration:
        """Explore up to the first violation."""
        return explore(partial(self.world, algorithm=algorithm))

    def missing(self, graph: Graph) -> int:
        """Return the number of states and transitions that only random walks meet."""
        return walk(self.world, graph, WALKS).missing


CONFIGURATIONS: Final[Sequence[Configuration]] = (
    Configuration(
        "one message, sent twice",
        (request("P", "one"),) * 2,
        finds=REPLAY_LEFT_TO_THE_HOLDER,
    ),
    Configuration(
        "one message with a cap of one, sent twice",
        (request("P", "one", max_number=1),) * 2,
        finds=ALGORITHMS["a cap is refused on a half-seen block"],
    ),
    Configuration(
        "three messages in batches of two",
        tuple(request("P", key) for key in ("one", "two", "three")),
        finds=ALGORITHMS["a collision is taken for progress"],
        batch_size=2,
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


def explore_on_all_cores() -> Iterator[Findings]:
    """Explore the configurations side by side; yield the findings in their order."""
    with all_cores() as pool:
        yield from pool.map(explore_and_check, CONFIGURATIONS)
