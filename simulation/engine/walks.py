"""Random walks through an explored world: is all that they meet in its graph?

The exploration stops at a state that it knows, so it sees what follows after one way
into the state only.
A walk goes on: after every other way into it the same must follow.
Where it does not, the state leaves out something that decides what follows.
"""

from collections.abc import Callable, Hashable, Iterator

from simulation.engine.choices import RandomChoices
from simulation.engine.exploration import (
    THE_BEGINNING,
    THE_END,
    ExhaustiveChoices,
    Graph,
    Node,
    SmallWorld,
    digest,
)


class Comparison:
    """What walks met, and what of it the exploration did not."""

    def __init__(self, graph: Graph) -> None:
        """Compare with the graph of an exploration that came to its end."""
        self.steps = 0
        self.missing_states: set[bytes] = set()
        self.missing_transitions: set[tuple[Node, Node]] = set()
        self._graph = graph
        self._states = {THE_END, *graph.nodes.values()}

    @property
    def missing(self) -> int:
        """How many different states and transitions the exploration did not meet."""
        return len(self.missing_states) + len(self.missing_transitions)

    def enter(self, state: Hashable) -> Node | None:
        """Return where the state is in the graph, if it is there."""
        self.steps += 1
        name = digest(state)
        node = self._graph.nodes.get(name)
        if node is None:
            self.missing_states.add(name)
        return node

    def follow(self, node: Node, successor: Node) -> None:
        """See whether one state follows the other in the graph, too."""
        if successor not in self._successors(node):
            self.missing_transitions.add((node, successor))

    def _successors(self, node: Node) -> Iterator[Node]:
        """Return the states that follow, whatever is chosen on the way."""
        for choice in range(self._graph.widths[node]):
            following = self._graph.edges[node, choice]
            if following in self._states:
                yield following
            else:
                yield from self._successors(following)


class WalkChoices(ExhaustiveChoices):
    """Chooses at random."""

    def __init__(
        self, seed: int, comparison: Comparison, *, reverses: bool = False
    ) -> None:
        """Take the seed, and who compares what is met."""
        super().__init__(reverses=reverses)
        self._random = RandomChoices(seed)
        self._comparison = comparison
        self._at: Node | None = THE_BEGINNING

    def choose(self, count: int, state: Callable[[], Hashable] | None) -> int:
        """Return any choice."""
        if state is not None:
            self._arrive(self._comparison.enter(state()))
        return self._random.pick(count)

    def end(self) -> None:
        """See that nothing follows in the graph either."""
        self._arrive(THE_END)

    def _arrive(self, node: Node | None) -> None:
        before, self._at = self._at, node
        if before is not None and node is not None:
            self._comparison.follow(before, node)


def walk(small: SmallWorld, graph: Graph, walks: int) -> Comparison:
    """Walk through a small world to its end, so many times."""
    comparison = Comparison(graph)
    for seed in range(walks):
        choices = WalkChoices(seed, comparison, reverses=small.reverses)
        small.history(choices).run()
        choices.end()
    return comparison
