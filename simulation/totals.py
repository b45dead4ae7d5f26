"""Many histories, on every core: what they came to in all."""

import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Self

from simulation.environment import THE_REAL_WAY, Way
from simulation.faults import Fault
from simulation.known_bad.algorithms import RIGHT_WAYS, WRONG_WAYS
from simulation.world import play, quiet

SEEDS_AT_A_TIME: Final = 50

WAYS: Final = {way.name: way for way in (THE_REAL_WAY, *RIGHT_WAYS, *WRONG_WAYS)}


@dataclass
class Totals:
    """What some histories came to."""

    histories: int = 0
    messages: int = 0
    tickets: int = 0
    calls: int = 0
    steps: int = 0
    faults: Counter[Fault] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    coverage: Counter[str] = field(default_factory=Counter)
    violations: list[tuple[int, str]] = field(default_factory=list)
    """Seeds, and what each of them broke."""

    def __iadd__(self, other: "Totals") -> Self:
        """Add what other histories came to."""
        self.histories += other.histories
        self.messages += other.messages
        self.tickets += other.tickets
        self.calls += other.calls
        self.steps += other.steps
        self.faults.update(other.faults)
        self.refusals.update(other.refusals)
        self.coverage.update(other.coverage)
        self.violations += other.violations
        return self


def play_all(seeds: range, way: Way = THE_REAL_WAY) -> Totals:
    """Play these histories one after the other."""
    totals = Totals()
    with quiet():
        for seed in seeds:
            outcome = play(seed, way)
            totals += Totals(
                histories=1,
                messages=outcome.messages,
                tickets=outcome.tickets,
                calls=outcome.calls,
                steps=outcome.steps,
                faults=outcome.faults,
                refusals=outcome.refusals,
                coverage=outcome.coverage,
                violations=[(seed, outcome.violation)] if outcome.violation else [],
            )
    return totals


def first_violation(way: Way, at_most: int) -> tuple[int, str] | None:
    """Return the first seed that breaks a promise, counted from 1, and how."""
    for seed in range(1, at_most + 1):
        if violations := play_all(range(seed, seed + 1), way).violations:
            return violations[0]
    return None


def play_on_all_cores(seeds: range, way: str = THE_REAL_WAY.name) -> Iterator[Totals]:
    """Play these histories side by side; yield what each few of them came to."""
    chunks = [
        seeds[start : start + SEEDS_AT_A_TIME]
        for start in range(0, len(seeds), SEEDS_AT_A_TIME)
    ]
    # A fork of a process with threads is unsafe, and pytest's has some.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(len(chunks), os.cpu_count() or 1), context) as pool:
        pending = [pool.submit(_play_named, chunk, way) for chunk in chunks]
        for future in pending:
            yield future.result()


def _play_named(seeds: range, way: str) -> Totals:
    return play_all(seeds, WAYS[way])
