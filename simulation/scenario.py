"""What a history is about: who asks for what and when, and how bad the day is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from simulation.aws.network import Latency
from simulation.aws.tables import PARTITION_UNITS
from simulation.engine.choices import Choices
from simulation.outages import Outage
from simulation.producers import (
    KEYS,
    MOST_PADDING,
    PROJECTS,
    Producers,
    Sending,
    request,
)

__all__ = ["Scenario", "Sending", "random_scenario", "request"]

FAULT_RATES: Final = (0.0, 0.01, 0.03, 0.08, 0.15, 0.3)
LATENCIES: Final = (
    Latency(),
    Latency(0.001, 0.3),
    Latency(0.005, 0.02, stalls=0.01),
    Latency(0.0, 0.001, stalls=0.03, stall=40.0),
    # Transactions that take long: many meet in the middle of each other.
    Latency(steps_a_call=1),
    Latency(0.0, 0.05, stalls=0.005, steps_a_call=1),
)


VISIBILITY_SECONDS: Final = (180.0, 180.0, 60.0, 20.0, 4.0)
CLOCK_ERRORS: Final = (0.0, 0.0, 0.02, 1.0, 100.0)
OUTAGES: Final = 0.15
HOT_PROJECTS: Final = 0.03


@dataclass(frozen=True)
class Scenario:
    """Everything but chance."""

    sendings: Sequence[Sending]
    pollers: int = 2
    batch_size: int = 10
    visibility_seconds: float = 180.0
    max_receives: int = 10
    max_attempts: int = 25
    redrives: Sequence[float] = ()
    """When an operator sends the dead letters back."""
    next_version: int = 0
    """How many of the pollers run the next version of the worker."""
    partition_units: float = PARTITION_UNITS
    silence: float = 0.0
    fifo: bool = False
    latency: Latency = field(default_factory=Latency)
    fault_rate: float = 0.0
    outages: Sequence[Outage] = ()
    clock_error: float = 0.0
    """Seconds by which each execution environment's clock may be wrong."""


def random_scenario(choices: Choices) -> Scenario:
    """Draw a scenario."""
    pollers = 1 + choices.pick(5)
    latency = LATENCIES[choices.pick(len(LATENCIES))]
    is_hot = choices.chance(HOT_PROJECTS)
    sizes = (50, 100, 130) if is_hot else (1, 2, 5, 10, 10)
    return Scenario(
        sendings=[*_producers(choices, is_hot=is_hot).sendings()],
        pollers=pollers,
        batch_size=sizes[choices.pick(len(sizes))],
        visibility_seconds=VISIBILITY_SECONDS[choices.pick(len(VISIBILITY_SECONDS))],
        max_receives=(10, 10, 3)[choices.pick(3)],
        max_attempts=(25, 25, 3)[choices.pick(3)],
        redrives=(5000.0, 20_000.0)[: choices.pick(3)],
        next_version=choices.pick(pollers) if choices.chance(0.3) else 0,
        partition_units=(PARTITION_UNITS, PARTITION_UNITS, 40.0)[choices.pick(3)],
        silence=(0.0, 0.3, 1.0)[choices.pick(3)],
        latency=latency,
        fault_rate=FAULT_RATES[choices.pick(len(FAULT_RATES))],
        outages=_outages(choices),
        clock_error=CLOCK_ERRORS[choices.pick(len(CLOCK_ERRORS))],
    )


def _producers(choices: Choices, *, is_hot: bool) -> Producers:
    """Draw who sends what: a few messages, or a flood for one or two projects."""
    projects = PROJECTS[choices.pick(len(PROJECTS))]
    return Producers(
        choices,
        count=60 + choices.pick(140) if is_hot else 2 + choices.pick(14),
        projects=projects[: 1 + choices.pick(2 if is_hot else len(projects))],
        spread=(0.0, 0.1, 60.0)[choices.pick(3)],
        key=KEYS[choices.pick(len(KEYS))],
        has_every_field=choices.chance(0.5),
        padding=1 if is_hot or choices.chance(0.95) else MOST_PADDING,
    )


def _outages(choices: Choices) -> Sequence[Outage]:
    if not choices.chance(OUTAGES):
        return ()
    return [Outage.drawn(choices) for _ in range(1 + choices.pick(2))]
