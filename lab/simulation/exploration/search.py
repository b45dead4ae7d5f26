"""Exhaustive exploration of a configuration: every state and every transition.

A run follows a path of choices and then always takes the first one; later runs take
the other choices.
A run ends where it reaches a known state, for what follows is known as well.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from simulation.engine.choices import Choices, Thing
from simulation.world.world import Outcome, World

Node = int
END: Final[Node] = 0
START: Final[Node] = 1


class KnownState(Exception):  # noqa: N818 - no error, only the end of a run.
    """The run reached a state that another run was in before."""


def digest(state: Hashable) -> bytes:
    """Return 128 bits for a state; the states themselves would fill the memory."""
    return blake2b(repr(state).encode(), digest_size=16).digest()


@dataclass
class Graph:
    """The states of a configuration, and the state that each choice leads to."""

    widths: dict[Node, int] = field(default_factory=lambda: {START: 1})
    edges: dict[tuple[Node, int], Node] = field(default_factory=dict)
    nodes: dict[bytes, Node] = field(default_factory=dict)
    """By the digest of the state; a choice between two scheduling points has none."""

    def new(self, width: int) -> Node:
        """Add a state with this number of choices."""
        node = len(self.widths) + 1
        self.widths[node] = width
        return node


class ExhaustiveChoices(Choices, ABC):
    """Leaves nothing to chance: every event is a choice, and takes no time."""

    are_exhaustive = True

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
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
        """Return False: an event is a choice, or it does not happen."""
        del probability
        return False

    def duration(self, shortest: float, longest: float) -> float:
        """Return 0: the order of events is a choice."""
        del shortest, longest
        return 0.0

    def order(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return the things as given."""
        return things


class PathChoices(ExhaustiveChoices):
    """Follows a path, then always takes the first choice; extends the graph."""

    def __init__(self, path: Sequence[int], graph: Graph) -> None:
        super().__init__()
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


def explore(make_world: Callable[[ExhaustiveChoices], World]) -> Exploration:
    """Play every transition, up to the first violation."""
    result = Exploration()
    paths: list[list[int]] = [[]]
    while paths:
        path = paths.pop()
        choices = PathChoices(path, result.graph)
        with suppress(KnownState):
            outcome = make_world(choices).run()
            choices.end()
            if outcome.violation:
                result.violation = outcome
                return result
        for position in range(len(path), len(choices.taken)):
            others = range(1, choices.widths[position])
            paths += [[*choices.taken[:position], other] for other in others]
    return result
