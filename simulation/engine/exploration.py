"""Every interleaving of a small world, not a sample.

A run follows a path of choices and then always takes the first one; what it could
have taken instead is tried later.
Where a run comes into a state that another was in before, what follows is known.
"""

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


@dataclass
class Graph:
    """The states of a world, and where each choice leads from them."""

    widths: dict[Node, int] = field(default_factory=lambda: {THE_BEGINNING: 1})
    edges: dict[tuple[Node, int], Node] = field(default_factory=dict)
    nodes: dict[bytes, Node] = field(default_factory=dict)

    def new(self, width: int) -> Node:
        """Add a state with so many choices."""
        node = len(self.widths) + 1
        self.widths[node] = width
        return node

    def histories(self) -> int:
        """Count the ways from the beginning to the end."""
        counts = {THE_END: 1}
        uncounted = [THE_BEGINNING]
        while uncounted:
            node = uncounted[-1]
            following = [
                self.edges[node, choice] for choice in range(self.widths[node])
            ]
            if missing := [each for each in following if each not in counts]:
                uncounted += missing
                continue
            counts[node] = sum(counts[each] for each in following)
            uncounted.pop()
        return counts[THE_BEGINNING]


class PathChoices:
    """Follows a path, and then always takes the first choice; draws the graph."""

    are_exhaustive = True

    def __init__(
        self, path: Sequence[int], graph: Graph, *, reverses: bool = False
    ) -> None:
        """Take the path, and whether lists are tried in reverse too."""
        self._reverses = reverses
        self.taken: list[int] = []
        self.widths: list[int] = []
        self._state: Callable[[], Hashable] | None = None
        self._path = path
        self._graph = graph
        self._at = (THE_BEGINNING, 0)

    def at(self, state: Callable[[], Hashable]) -> None:
        """Take what stands for the world, while the next task is chosen."""
        self._state = state

    def pick(self, count: int) -> int:
        """Return the path's choice.

        Raises:
            KnownState: The path is at its end, in a state known from another.
        """
        if count == 1:
            self._state = None
            return 0
        is_new = len(self.taken) >= len(self._path)
        self._enter(count, is_new=is_new)
        choice = 0 if is_new else self._path[len(self.taken)]
        self.taken.append(choice)
        self.widths.append(count)
        self._at = self._at[0], choice
        return choice

    def end(self) -> None:
        """Draw that nothing follows."""
        self._graph.edges[self._at] = THE_END

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

    def _enter(self, count: int, *, is_new: bool) -> None:
        """Move to the node where this choice is made."""
        graph = self._graph
        if self._state is None:
            node = graph.edges.get(self._at) or graph.new(count)
        else:
            # A digest of 128 bits, for the states themselves would fill the memory.
            state = blake2b(repr(self._state()).encode(), digest_size=16).digest()
            known = graph.nodes.get(state)
            node = known or graph.nodes.setdefault(state, graph.new(count))
            self._state = None
            if known and is_new:
                graph.edges[self._at] = node
                raise KnownState
        graph.edges[self._at] = node
        self._at = node, 0


@dataclass
class Exploration:
    """What a small world came to in all of its histories."""

    graph: Graph = field(default_factory=Graph)
    runs: int = 0
    violation: Outcome | None = None

    @property
    def states(self) -> int:
        """How many different states there were."""
        return len(self.graph.widths)


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

    def history(self, choices: PathChoices, way: Way = THE_REAL_WAY) -> World:
        """Set the scene for one history; one request a call, without botocore's own."""
        faults = EveryFault(choices, self.faults, self.kinds)
        world = World(self.scenario, choices, faults, way)
        world.network.attempts = 1
        world.network.patience = FOREVER
        world.scheduler.watch = lambda: choices.at(world.state)
        return world


def explore(small: SmallWorld, way: Way = THE_REAL_WAY) -> Exploration:
    """Play every history of a small world, up to the first violation."""
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
