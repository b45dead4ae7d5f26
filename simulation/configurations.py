"""The configurations whose every state is explored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from simulation.engine.exploration import Configuration, explore
from simulation.engine.walks import walk
from simulation.faults import Fault
from simulation.play import all_cores, quiet
from simulation.producers import request

WALKS: Final = 300
"""Random walks that check the graph of each configuration."""

ONE, TWO, THREE = (request("P", key) for key in ("one", "two", "three"))

TWO_MESSAGES: Final = Configuration("two messages", [ONE, TWO])
SENT_TWICE: Final = Configuration("one message, sent twice", [ONE, ONE])
BATCHES: Final = Configuration(
    "three messages in batches of two", [ONE, TWO, THREE], batch_size=2
)


def with_faults(
    configuration: Configuration, *kinds: Fault, faults: int = 1, is_quick: bool = False
) -> Configuration:
    """Return the configuration with at most so many faults of these kinds."""
    listed = "; or ".join(kind.value for kind in kinds)
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
class Findings:
    """What the exploration of a configuration found."""

    configuration: Configuration
    states: int
    transitions: int
    violation: str | None
    history: Sequence[str] = ()
    """The lines of the violation's history."""
    missing: int = 0
    """States and transitions that random walks met, and the exploration did not."""


def explore_and_check(configuration: Configuration) -> Findings:
    """Explore up to the first violation; check the graph with random walks."""
    with quiet():
        found = explore(configuration)
        figures = configuration, found.states, found.transitions
        if found.violation:
            lines = found.violation.history.lines()
            return Findings(*figures, found.violation.violation, lines)
        missing = walk(configuration, found.graph, WALKS).missing
        return Findings(*figures, None, missing=missing)


def explore_on_all_cores(configurations: Sequence[Configuration]) -> Iterator[Findings]:
    """Explore configurations side by side; yield the findings in their order."""
    with all_cores() as pool:
        yield from pool.map(explore_and_check, configurations)
