"""Random walks through an explored configuration, compared with its graph.

The exploration stops at a known state, so it sees what follows on one path into the
state alone.
A walk goes on: what follows must be the same on every path.
Where it is not, the state leaves out something that decides what follows.
"""

from collections.abc import Callable, Hashable, Iterator

from simulation.engine.choices import Choices
from simulation.exploration.search import (
    END,
    START,
    ExhaustiveChoices,
    Graph,
    Node,
    digest,
)
from simulation.world.world import World


class Comparison:
    """Compares the states of walks with the graph of a complete exploration."""

    def __init__(self, graph: Graph) -> None:
        self.missing_states: set[bytes] = set()
        self.missing_transitions: set[tuple[Node, Node]] = set()
        self._graph = graph
        self._states = {END, *graph.nodes.values()}

    @property
    def missing(self) -> int:
        """The number of states and transitions that are not in the graph."""
        return len(self.missing_states) + len(self.missing_transitions)

    def enter(self, state: Hashable) -> Node | None:
        """Return the state's node; count the state as missing if it has none."""
        name = digest(state)
        node = self._graph.nodes.get(name)
        if node is None:
            self.missing_states.add(name)
        return node

    def follow(self, node: Node, successor: Node) -> None:
        """Count the transition as missing unless it is in the graph."""
        if successor not in self._successors(node):
            self.missing_transitions.add((node, successor))

    def _successors(self, node: Node) -> Iterator[Node]:
        """Return every state that follows, by any choices between the two."""
        for choice in range(self._graph.widths[node]):
            following = self._graph.edges[node, choice]
            if following in self._states:
                yield following
            else:
                yield from self._successors(following)


class WalkChoices(ExhaustiveChoices):
    """Chooses at random."""

    def __init__(self, seed: int, comparison: Comparison) -> None:
        super().__init__(seed)
        self._comparison = comparison
        self._at: Node | None = START

    def choose(self, count: int, state: Callable[[], Hashable] | None) -> int:
        """Return a random choice."""
        if state is not None:
            self._arrive(self._comparison.enter(state()))
        return Choices.pick(self, count)

    def end(self) -> None:
        """Compare the end of the walk with the graph."""
        self._arrive(END)

    def _arrive(self, node: Node | None) -> None:
        before, self._at = self._at, node
        if before is not None and node is not None:
            self._comparison.follow(before, node)


def walk(
    make_world: Callable[[ExhaustiveChoices], World],
    graph: Graph,
    walks: int,
) -> Comparison:
    """Walk through a configuration to its end, this number of times."""
    comparison = Comparison(graph)
    for seed in range(walks):
        choices = WalkChoices(seed, comparison)
        make_world(choices).run()
        choices.end()
    return comparison
