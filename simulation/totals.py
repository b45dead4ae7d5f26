"""Many histories on every core, and their totals."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Final, Self

from simulation.execution_environment import SHIPPED, Algorithm
from simulation.faults import Fault
from simulation.known_bad.algorithms import CORRECT_BUT_COSTLY, KNOWN_BAD
from simulation.play import all_cores, play, quiet

SEEDS_AT_A_TIME: Final = 50

ALGORITHMS: Final = {
    algorithm.name: algorithm
    for algorithm in (SHIPPED, *CORRECT_BUT_COSTLY, *KNOWN_BAD)
}


@dataclass
class Totals:
    """The sums over some histories."""

    histories: int = 0
    messages: int = 0
    tickets: int = 0
    calls: int = 0
    steps: int = 0
    faults: Counter[Fault] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    coverage: Counter[str] = field(default_factory=Counter)
    violations: list[tuple[int, str]] = field(default_factory=list)
    """Seeds, and the promise that each of them broke."""

    def __iadd__(self, other: "Totals") -> Self:
        """Add the sums over other histories."""
        for summand in fields(self):
            name = summand.name
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


def play_all(seeds: range, algorithm: Algorithm = SHIPPED) -> Totals:
    """Play these histories one after the other."""
    totals = Totals()
    with quiet():
        for seed in seeds:
            outcome = play(seed, algorithm)
            totals += Totals(
                histories=1,
                messages=outcome.messages,
                tickets=outcome.tickets,
                calls=outcome.calls,
                steps=outcome.steps,
                faults=outcome.faults,
                refusals=outcome.history.refusals(),
                coverage=outcome.coverage,
                violations=[(seed, outcome.violation)] if outcome.violation else [],
            )
    return totals


def first_violation(algorithm: Algorithm, at_most: int) -> tuple[int, str] | None:
    """Return the first seed from 1 that breaks a promise, and the promise."""
    for seed in range(1, at_most + 1):
        if violations := play_all(range(seed, seed + 1), algorithm).violations:
            return violations[0]
    return None


def play_on_all_cores(seeds: range, algorithm: str = SHIPPED.name) -> Iterator[Totals]:
    """Play these histories on all cores; yield the totals of each chunk."""
    starts = range(0, len(seeds), SEEDS_AT_A_TIME)
    chunks = [seeds[start : start + SEEDS_AT_A_TIME] for start in starts]
    with all_cores() as pool:
        yield from pool.map(partial(_play_named, algorithm), chunks)


def _play_named(algorithm: str, seeds: range) -> Totals:
    return play_all(seeds, ALGORITHMS[algorithm])
