"""Plays the histories of seeds, on one core or on all, and sums them up."""

import gc
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Self, TypeVar

from simulation.checks.violations import Invariant, Violation
from simulation.engine.choices import Choices
from simulation.known_bad.algorithms import ALGORITHMS
from simulation.scenarios.random_scenarios import random_scenario
from simulation.world.execution_environment import SHIPPED, Algorithm
from simulation.world.world import Outcome, World

SEEDS_AT_A_TIME: Final = 50

Sums = TypeVar("Sums")

OBJECTS_A_COLLECTION: Final = 50_000
"""A world makes many objects and few cycles; Python looks for them every 700 objects,
which takes an eighth of the time."""


def play(seed: int, algorithm: Algorithm = SHIPPED) -> Outcome:
    """Play the history of a seed."""
    choices = Choices(seed)
    return World(random_scenario(choices), choices, algorithm).run()


@contextmanager
def all_cores() -> Iterator[ProcessPoolExecutor]:
    """Give a process for each core; work that has not begun at the end never does."""
    # To fork a process with threads is unsafe, and pytest has some.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(os.cpu_count() or 1, context, _prepare)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass
class Totals:
    """The sums over some histories."""

    counts: Counter[str] = field(default_factory=Counter)
    """Events by kind."""
    violations: list[tuple[int, Violation]] = field(default_factory=list)
    """The seeds with violations."""
    met: Counter[str] = field(default_factory=Counter)
    """The number of histories that met each condition."""
    intervals: dict[str, float] = field(default_factory=dict)
    """The number of histories of which at least one meets each condition."""

    def __iadd__(self, other: "Totals") -> Self:
        """Add the sums over other histories."""
        self.counts += other.counts
        self.violations += other.violations
        self.met += other.met
        self.intervals |= other.intervals
        return self

    @property
    def breaks(self) -> Invariant | None:
        """The invariant that the first violation breaks."""
        return self.violations[0][1].check if self.violations else None

    def add(self, seed: int, outcome: Outcome) -> None:
        """Add a history."""
        self.counts += outcome.counts
        for name, interval, is_met in outcome.conditions:
            self.met[name] += is_met
            self.intervals[name] = interval
        if outcome.violation:
            self.violations.append((seed, outcome.violation))


def play_all(seeds: range, algorithm: Algorithm = SHIPPED) -> Totals:
    """Play these histories one after the other."""
    return sums(seeds, partial(play, algorithm=algorithm))


def sums(
    seeds: range, play: Callable[[int], Outcome], *, to_violation: bool = False
) -> Totals:
    """Play the histories of seeds, all or up to one that breaks a promise."""
    totals = Totals()
    for seed in seeds:
        totals.add(seed, play(seed))
        if to_violation and totals.violations:
            break
    return totals


def play_on_all_cores(seeds: range, algorithm: str = SHIPPED.name) -> Iterator[Totals]:
    """Play these histories on all cores; yield the totals of each chunk."""
    return on_all_cores(partial(_play_named, algorithm), seeds)


def on_all_cores(play: Callable[[range], Sums], seeds: range) -> Iterator[Sums]:
    """Play histories on all cores; yield the sums over each chunk."""
    starts = range(0, len(seeds), SEEDS_AT_A_TIME)
    chunks = [seeds[start : start + SEEDS_AT_A_TIME] for start in starts]
    with all_cores() as pool:
        yield from pool.map(play, chunks)


def _prepare() -> None:
    gc.set_threshold(OBJECTS_A_COLLECTION)
    # Ctrl-C ends a child without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _play_named(algorithm: str, seeds: range) -> Totals:
    return play_all(seeds, ALGORITHMS[algorithm])
