"""Small worlds of which every state is explored."""

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from simulation.engine.exploration import SmallWorld, explore
from simulation.engine.walks import walk
from simulation.faults import Fault
from simulation.scenario import request
from simulation.world import quiet

WALKS: Final = 300
"""Random walks that check the graph of each world."""

ONE, TWO, THREE = (request("P", key) for key in ("one", "two", "three"))

TWO_MESSAGES: Final = SmallWorld("two messages", [ONE, TWO])
SENT_TWICE: Final = SmallWorld("one message, sent twice", [ONE, ONE])
BATCHES: Final = SmallWorld(
    "three messages in batches of two", [ONE, TWO, THREE], batch_size=2
)


def with_faults(
    world: SmallWorld, *kinds: Fault, faults: int = 1, is_quick: bool = False
) -> SmallWorld:
    """Return the world, with at most so many faults in a history, of these kinds."""
    listed = "; or ".join(kind.value for kind in kinds)
    name = f"{world.name}; up to {faults} x {listed}"
    return replace(world, name=name, kinds=kinds, faults=faults, is_quick=is_quick)


SMALL_WORLDS: Final[Sequence[SmallWorld]] = (
    TWO_MESSAGES,
    SENT_TWICE,
    BATCHES,
    # What differs as far as the worker can tell; other faults are like one of these.
    with_faults(TWO_MESSAGES, Fault.KILLED_BEFORE, is_quick=True),
    with_faults(TWO_MESSAGES, Fault.DUPLICATED, is_quick=True),
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
class Explored:
    """What the exploration of a small world came to."""

    world: SmallWorld
    states: int
    transitions: int
    violation: str | None
    story: Sequence[str] = ()
    """The history of the violation."""
    missing: int = 0
    """States and transitions that random walks met, and the exploration did not."""


def explored(world: SmallWorld) -> Explored:
    """Explore a world up to the first violation; check the graph with random walks."""
    with quiet():
        found = explore(world)
        figures = world, found.states, found.transitions
        if found.violation:
            story = found.violation.history.lines()
            return Explored(*figures, found.violation.violation, story)
        missing = walk(world, found.graph, WALKS).missing
        return Explored(*figures, None, missing=missing)


def explored_on_all_cores(worlds: Sequence[SmallWorld]) -> Iterator[Explored]:
    """Explore the worlds side by side; yield what each came to, in order."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count() or 1, context) as pool:
        yield from pool.map(explored, worlds)
