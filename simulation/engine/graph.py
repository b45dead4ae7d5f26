"""The graph of an exploration: states, and the state that each choice leads to."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

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
