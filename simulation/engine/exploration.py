"""Exhaustive exploration of a configuration: every state and every transition.

A run follows a path of choices and then always takes the first one; later runs take
the other choices.
A run ends where it reaches a known state, for what follows is known as well.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from simulation.aws.latency import Latency
from simulation.engine.graph import END, START, Graph, KnownState, Node, digest
from simulation.engine.tasks import FOREVER
from simulation.execution_environment import SHIPPED, Algorithm
from simulation.faults import EveryFault, Fault
from simulation.producers import Sending
from simulation.scenario import Scenario
from simulation.world import Outcome, World

Thing = TypeVar("Thing")


class ExhaustiveChoices(ABC):
    """Leaves nothing to chance: every event is a choice, and takes no time."""

    are_exhaustive = True

    def __init__(self, *, reverses: bool = False) -> None:
        self._reverses = reverses
        self._state: Callable[[], Hashable] | None = None

    def at(self, state: Callable[[], Hashable]) -> None:
        """Take the state's function; the next choice is that of the next task."""
        self._state = state

    def pick(self, count: int) -> int:
        """Return a choice; a single possibility is none."""
        state, self._state = self._state, None
        return 0 if count == 1 else self.choose(count, state)

    @abstractmethod
    def choose(self, count: int, state: Callable[[], Hashable] | None) -> int:
        """Return one of `range(count)`.

        Args:
            count: More than one.
            state: Returns the state, if the choice is that of the next task.
        """

    def chance(self, probability: float) -> bool:
        """Return False: what may happen is a choice, or does not happen."""
        del probability
        return False

    def duration(self, shortest: float, longest: float) -> float:
        """Return 0: the order of events is a choice."""
        del shortest, longest
        return 0.0

    def order(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return the things as given; where reversal is on, that is a choice."""
        if not self._reverses or len(things) == 1 or self.pick(2) == 0:
            return things
        return things[::-1]


class PathChoices(ExhaustiveChoices):
    """Follows a path, then always takes the first choice; extends the graph."""

    def __init__(
        self, path: Sequence[int], graph: Graph, *, reverses: bool = False
    ) -> None:
        super().__init__(reverses=reverses)
        self.taken: list[int] = []
        self.widths: list[int] = []
        self._path = path
        self._graph = graph
        self._at = (START, 0)

    def choose(self, count: int, state: Callable[[], Hashable] | None) -> int:
        """Return the path's choice.

        Raises:
            KnownState: The path is at its end, in a known state.
        """
        node = self._graph.edges.get(self._at) or self._extend(count, state)
        is_new = len(self.taken) >= len(self._path)
        choice = 0 if is_new else self._path[len(self.taken)]
        self.taken.append(choice)
        self.widths.append(count)
        self._at = node, choice
        return choice

    def end(self) -> None:
        """Add the edge to the end."""
        self._graph.edges[self._at] = END

    def _extend(self, count: int, state: Callable[[], Hashable] | None) -> Node:
        """Add the edge that leads here; return the node of this choice."""
        graph = self._graph
        name = digest(state()) if state else None
        known = graph.nodes.get(name) if name else None
        node = graph.edges[self._at] = known or graph.new(count)
        if known:
            raise KnownState
        if name:
            graph.nodes[name] = node
        return node


@dataclass
class Exploration:
    """The graph of a configuration, or the first violation."""

    graph: Graph = field(default_factory=Graph)
    violation: Outcome | None = None

    @property
    def states(self) -> int:
        """The number of different states."""
        return len(self.graph.widths)

    @property
    def transitions(self) -> int:
        """The number of choices in all states; each was played once."""
        return len(self.graph.edges)


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
    is_quick: bool = True
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


def explore(
    configuration: Configuration, algorithm: Algorithm = SHIPPED
) -> Exploration:
    """Play every transition of a configuration, up to the first violation."""
    result = Exploration()
    paths: list[list[int]] = [[]]
    while paths:
        path = paths.pop()
        choices = PathChoices(path, result.graph, reverses=configuration.reverses)
        with suppress(KnownState):
            outcome = configuration.world(choices, algorithm).run()
            choices.end()
            if outcome.violation:
                result.violation = outcome
                return result
        for position in range(len(path), len(choices.taken)):
            others = range(1, choices.widths[position])
            paths += [[*choices.taken[:position], other] for other in others]
    return result
