"""Exhaustive exploration of a small world: every state, and every transition of it.

A run follows a path of choices and then always takes the first one; what it could
have taken instead is tried later.
Where a run comes into a state that another was in before, what follows is known.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, TypeVar

from simulation.aws.network import Latency
from simulation.engine.scheduler import FOREVER
from simulation.environment import THE_REAL_WAY, Way
from simulation.faults import EveryFault, Fault
from simulation.scenario import Scenario, Sending
from simulation.world import Outcome, World

Thing = TypeVar("Thing")
Node = int

THE_END: Final[Node] = 0
THE_BEGINNING: Final[Node] = 1


class KnownState(Exception):  # noqa: N818 - no error: the rest was seen before.
    """The world is in a state in which it was before."""


def digest(state: Hashable) -> bytes:
    """Return 128 bits for a state, for the states themselves would fill the memory."""
    return blake2b(repr(state).encode(), digest_size=16).digest()


@dataclass
class Graph:
    """The states of a world, and where each choice leads from them."""

    widths: dict[Node, int] = field(default_factory=lambda: {THE_BEGINNING: 1})
    edges: dict[tuple[Node, int], Node] = field(default_factory=dict)
    nodes: dict[bytes, Node] = field(default_factory=dict)
    """By what stands for the world; a choice on the way to the next has no name."""

    def new(self, width: int) -> Node:
        """Add a state with so many choices."""
        node = len(self.widths) + 1
        self.widths[node] = width
        return node


class ExhaustiveChoices(ABC):
    """Leaves nothing to chance: what may happen is a choice, and takes no time."""

    are_exhaustive = True

    def __init__(self, *, reverses: bool = False) -> None:
        """Take whether lists are tried in reverse too."""
        self._reverses = reverses
        self._state: Callable[[], Hashable] | None = None

    def at(self, state: Callable[[], Hashable]) -> None:
        """Take what stands for the world, while the next task is chosen."""
        self._state = state

    def pick(self, count: int) -> int:
        """Return a choice, where there is one."""
        state, self._state = self._state, None
        return 0 if count == 1 else self.choose(count, state)

    @abstractmethod
    def choose(self, count: int, state: Callable[[], Hashable] | None) -> int:
        """Return one of `range(count)`.

        Args:
            count: More than one.
            state: Returns what stands for the world, while the next task is chosen.
        """

    def chance(self, probability: float) -> bool:
        """Leave chance out: what may happen is a choice, or does not."""
        del probability
        return False

    def duration(self, shortest: float, longest: float) -> float:
        """Let nothing take time: what takes longer than what is a choice."""
        del shortest, longest
        return 0.0

    def order(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return the things in the order given, or also in the reverse one."""
        if not self._reverses or len(things) == 1 or self.pick(2) == 0:
            return things
        return things[::-1]


class PathChoices(ExhaustiveChoices):
    """Follows a path, and then always takes the first choice; draws the graph."""

    def __init__(
        self, path: Sequence[int], graph: Graph, *, reverses: bool = False
    ) -> None:
        """Take the path, and whether lists are tried in reverse too."""
        super().__init__(reverses=reverses)
        self.taken: list[int] = []
        self.widths: list[int] = []
        self._path = path
        self._graph = graph
        self._at = (THE_BEGINNING, 0)

    def choose(self, count: int, state: Callable[[], Hashable] | None) -> int:
        """Return the path's choice.

        Raises:
            KnownState: The path is at its end, in a state known from another.
        """
        node = self._graph.edges.get(self._at) or self._draw(count, state)
        is_new = len(self.taken) >= len(self._path)
        choice = 0 if is_new else self._path[len(self.taken)]
        self.taken.append(choice)
        self.widths.append(count)
        self._at = node, choice
        return choice

    def end(self) -> None:
        """Draw that nothing follows."""
        self._graph.edges[self._at] = THE_END

    def _draw(self, count: int, state: Callable[[], Hashable] | None) -> Node:
        """Draw the edge that leads here, and the node where this choice is made."""
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
    """What the exploration of a small world came to."""

    graph: Graph = field(default_factory=Graph)
    runs: int = 0
    violation: Outcome | None = None

    @property
    def states(self) -> int:
        """How many different states there were."""
        return len(self.graph.widths)

    @property
    def transitions(self) -> int:
        """How many choices there were in all states; each was played once."""
        return len(self.graph.edges)


@dataclass(frozen=True)
class SmallWorld:
    """A scenario of two workers, and what can go wrong in it."""

    name: str
    bodies: Sequence[str]
    faults: int = 0
    """How many faults a history has at most."""
    kinds: Sequence[Fault] = ()
    """What can go wrong."""
    batch_size: int = 1
    visibility_seconds: float = 180.0
    reverses: bool = False
    """Whether what a service does in any order is also tried in reverse."""
    is_quick: bool = True
    """Whether it is played in `make test` too."""

    @property
    def scenario(self) -> Scenario:
        """Everything but chance."""
        return Scenario(
            [Sending(0.0, body) for body in self.bodies],
            pollers=2,
            batch_size=self.batch_size,
            visibility_seconds=self.visibility_seconds,
            max_receives=2,
            max_attempts=2,
            latency=Latency(0.0, 0.0),
        )

    def history(self, choices: ExhaustiveChoices, way: Way = THE_REAL_WAY) -> World:
        """Set the scene for one history; one request a call, without botocore's own."""
        faults = EveryFault(choices, self.faults, self.kinds)
        world = World(self.scenario, choices, faults, way)
        world.network.attempts = 1
        world.network.patience = FOREVER
        world.scheduler.watch = lambda: choices.at(world.state)
        return world


def explore(small: SmallWorld, way: Way = THE_REAL_WAY) -> Exploration:
    """Play every transition of a small world, up to the first violation."""
    result = Exploration()
    paths: list[list[int]] = [[]]
    while paths:
        path = paths.pop()
        choices = PathChoices(path, result.graph, reverses=small.reverses)
        result.runs += 1
        with suppress(KnownState):
            outcome = small.history(choices, way).run()
            choices.end()
            if outcome.violation:
                result.violation = outcome
                return result
        for position in range(len(path), len(choices.taken)):
            others = range(1, choices.widths[position])
            paths += [[*choices.taken[:position], other] for other in others]
    return result
