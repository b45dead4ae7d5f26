"""Outages: a service fails every call for minutes up to an hour."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from simulation.engine.choices import Choices, one_of
from simulation.faults import Fault, FaultPlan

SHORTEST_SECONDS: Final = 60.0
LONGEST_SECONDS: Final = 3600.0
LATEST_START: Final = 60.0
FAULTS_OF_AN_OUTAGE: Final = (
    Fault.HUNG,
    Fault.REFUSED,
    Fault.THROTTLED,
    Fault.FAILED_BEFORE,
)


class ServiceName(Enum):
    """A service that can fail as a whole."""

    DYNAMODB = "DynamoDB"
    SNS = "SNS"
    SQS = "SQS"


CALLS: Final[Mapping[ServiceName, Collection[str]]] = {
    ServiceName.DYNAMODB: {
        "query",
        "get_item",
        "batch_get_item",
        "put_item",
        "update_item",
        "delete_item",
        "transact_write_items",
    },
    ServiceName.SNS: {"publish_batch"},
    ServiceName.SQS: {"send_message_batch", "delete"},
}
"""The calls that a service answers; SQS answers Lambda's deletions, too."""


@dataclass(frozen=True)
class Outage:
    """A service that fails in one way for a while."""

    service: ServiceName
    start: float
    end: float
    fault: Fault

    @classmethod
    def random(cls, choices: Choices) -> "Outage":
        """Draw an outage."""
        start = choices.duration(0.0, LATEST_START)
        return cls(
            one_of(choices, tuple(ServiceName)),
            start,
            start + choices.duration(SHORTEST_SECONDS, LONGEST_SECONDS),
            one_of(choices, FAULTS_OF_AN_OUTAGE),
        )

    def affects(self, call: str, now: float) -> bool:
        """Return whether a call of this name fails now."""
        return self.start <= now < self.end and call in CALLS[self.service]


@dataclass
class WithOutages:
    """A fault plan with outages, and the faults so far."""

    faults: FaultPlan
    outages: Sequence[Outage]
    clock: Callable[[], float]
    injected: Counter[Fault] = field(default_factory=Counter)

    def next(self, call: str) -> Fault | None:
        """Return the fault of this call, if it has one."""
        fault = self._outage(call) or self.faults.next(call)
        if fault:
            self.injected[fault] += 1
        return fault

    def _outage(self, call: str) -> Fault | None:
        for outage in self.outages:
            if outage.affects(call, self.clock()):
                return Fault.NOT_DELETED if call == "delete" else outage.fault
        return None
