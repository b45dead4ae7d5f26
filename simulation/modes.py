"""A hot project on a standard queue and on a FIFO queue: what numbering costs."""

from dataclasses import dataclass
from statistics import mean
from typing import Final

from simulation.engine.choices import RandomChoices
from simulation.faults import RandomFaults
from simulation.scenario import Scenario, Sending, request
from simulation.world import Outcome, World, quiet

SEEDS: Final = range(1, 31)
BATCHES: Final = 10
BATCH_SIZE: Final = 10
WORKERS: Final = (1, 2, 5, 10)


@dataclass(frozen=True)
class Figures:
    """Means over some calm days."""

    attempts_a_block: float
    write_units_a_ticket: float
    requests_a_ticket: float


def hot_project(pollers: int, *, fifo: bool) -> Scenario:
    """Return a calm day on which ten full batches of one project wait."""
    bodies = [request("P", f"key-{number}") for number in range(BATCHES * BATCH_SIZE)]
    return Scenario([Sending(0.0, body) for body in bodies], pollers, fifo=fifo)


def played(scenario: Scenario, seed: int) -> Outcome:
    """Play a scenario without a fault."""
    choices = RandomChoices(seed)
    with quiet():
        return World(scenario, choices, RandomFaults(choices, 0.0)).run()


def figures(pollers: int, *, fifo: bool) -> Figures:
    """Play the days of all seeds."""
    scenario = hot_project(pollers, fifo=fifo)
    days = [played(scenario, seed) for seed in SEEDS]
    return Figures(
        mean(day.attempts / BATCHES for day in days),
        mean(day.write_units / day.tickets for day in days),
        mean(day.calls / day.tickets for day in days),
    )
