"""Days on which workers number the project that operators write to, and their play."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from operators.seeded_world import SeededWorld, Wrapper
from operators.stack import PROJECT
from simulation.aws.latency import Latency
from simulation.aws.tables import PARTITION_UNITS
from simulation.engine.choices import Choices, one_of
from simulation.play import Totals, sums
from simulation.scenarios.producers import Sending, request
from simulation.scenarios.random_scenarios import LATENCIES, random_scenario
from simulation.scenarios.scenario import Scenario
from simulation.world.execution_environment import SHIPPED, Algorithm
from simulation.world.world import Outcome

FIFO_EVERY: Final = 4
LONGEST_PAUSE_SECONDS: Final = 20.0

STALLING: Final = Latency(0.0, 0.001, stalls=0.1, stall=2.5)
"""A worker's write can take as long as a seed and an import."""


def busy_scenario(choices: Choices) -> Scenario:
    """Draw a day on which workers number the project that operators seed."""
    count = 20 + choices.pick(40)
    sendings = [
        Sending(choices.duration(0.0, 1.0), request(PROJECT, f"key-{serial}"))
        for serial in range(count)
    ]
    return Scenario(
        sendings,
        pollers=2 + choices.pick(4),
        batch_size=one_of(choices, (2, 5, 10)),
        partial_reasons=one_of(choices, (0.0, 0.3)),
        latency=one_of(choices, (*LATENCIES, STALLING)),
        fault_rate=one_of(choices, (0.0, 0.03, 0.15)),
    )


def capped_scenario(choices: Choices) -> Scenario:
    """Draw a day on which requests with caps come twice, and old numbers are cached."""
    day = busy_scenario(choices)
    sendings = [
        Sending(choices.duration(0.0, LONGEST_PAUSE_SECONDS), body)
        for serial in range(len(day.sendings))
        for body in [request(PROJECT, f"key-{serial}", max_number=50)] * 2
    ]
    return replace(day, sendings=sendings, cache_ttl=timedelta.max)


def rivals_scenario(choices: Choices) -> Scenario:
    """Draw a day on which each key is used again, for another ticket."""
    day = busy_scenario(choices)
    sendings = [
        Sending(choices.duration(0.0, latest), request(PROJECT, f"key-{serial}", title))
        for serial in range(5)
        for title, latest in {
            "first": 1.0,
            "another": 3 * LONGEST_PAUSE_SECONDS,
        }.items()
    ]
    return replace(day, sendings=sendings, redrives=(100.0,))


def play_seed(
    seed: int,
    algorithm: Algorithm = SHIPPED,
    wrapper: Wrapper = lambda client: client,
    draw: Callable[[Choices], Scenario] | None = None,
) -> Outcome:
    """Play the history of a seed."""
    choices = Choices(seed)
    draw = draw or (busy_scenario if seed % 2 else random_scenario)
    scenario = replace(
        draw(choices),
        # With less throughput or in an outage a seed would not end in time.
        partition_units=PARTITION_UNITS,
        outages=(),
        fifo=seed % FIFO_EVERY == 0,
    )
    return SeededWorld(scenario, choices, algorithm, wrapper).run()


def play(seeds: range, **how: Any) -> Totals:
    """Play histories until one breaks a promise."""
    return sums(seeds, partial(play_seed, **how), to_violation=True)
