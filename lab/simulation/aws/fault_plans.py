"""Outages of whole services, and the plans that decide which calls fail."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

from simulation.aws.faults import FAULTS_OF_AN_OUTAGE, SERVICES, Fault, possible
from simulation.engine.choices import Choices, one_of
from simulation.engine.scheduler import Scheduler

SHORTEST_OUTAGE_SECONDS: Final = 60.0
LONGEST_OUTAGE_SECONDS: Final = 3600.0
LATEST_OUTAGE_START_SECONDS: Final = 60.0
ENDLESS_OUTAGES: Final = 0.1
"""The share of outages without an end."""


@dataclass(frozen=True)
class Outage:
    """A service that fails in one way for a while."""

    service: str
    start: float
    end: float
    fault: Fault

    @classmethod
    def random(cls, choices: Choices) -> "Outage":
        """Draw an outage."""
        start = choices.duration(0.0, LATEST_OUTAGE_START_SECONDS)
        length = choices.duration(SHORTEST_OUTAGE_SECONDS, LONGEST_OUTAGE_SECONDS)
        return cls(
            one_of(choices, tuple(SERVICES)),
            start,
            inf if choices.chance(ENDLESS_OUTAGES) else start + length,
            one_of(choices, FAULTS_OF_AN_OUTAGE),
        )


@dataclass
class FaultPlan:
    """Decides which calls fail; in this plan none does."""

    injected: Counter[Fault] = field(default_factory=Counter, init=False)

    def next(self, call: str) -> Fault | None:
        """Return the fault of this call, if it has one."""
        fault = self.draw(call)
        if fault:
            self.injected[fault] += 1
        return fault

    def draw(self, call: str) -> Fault | None:
        """Choose a fault of this call, or none."""
        del call
        return None


@dataclass
class RandomFaults(FaultPlan):
    """Each call has one of its faults at random; in an outage each has its fault."""

    choices: Choices
    scheduler: Scheduler
    rate: float
    outages: Sequence[Outage]

    def draw(self, call: str) -> Fault | None:
        """Return the outage's fault, or one of the possible faults."""
        now = self.scheduler.now
        for outage in self.outages:
            if outage.start <= now < outage.end and call in SERVICES[outage.service]:
                return Fault.NOT_DELETED if call == "delete" else outage.fault
        if not self.rate or not self.choices.chance(self.rate):
            return None
        return one_of(self.choices, possible(call))
