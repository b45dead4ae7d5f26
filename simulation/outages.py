"""Outages: a service that answers nobody, for minutes up to an hour."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from simulation.engine.choices import Choices
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
    """A service that can fail as a whole, and the calls that then do."""

    DYNAMODB = "DynamoDB"
    SNS = "SNS"
    SQS = "SQS"

    @property
    def calls(self) -> frozenset[str]:
        """The calls that it answers; Lambda's deletions are some of SQS's."""
        return _CALLS[self]


_CALLS: Final = {
    ServiceName.DYNAMODB: frozenset(
        {
            "query",
            "get_item",
            "batch_get_item",
            "put_item",
            "update_item",
            "delete_item",
            "transact_write_items",
        }
    ),
    ServiceName.SNS: frozenset({"publish_batch"}),
    ServiceName.SQS: frozenset({"send_message_batch", "delete"}),
}


@dataclass(frozen=True)
class Outage:
    """A service that fails in one way for a while."""

    service: ServiceName
    start: float
    end: float
    fault: Fault

    @classmethod
    def drawn(cls, choices: Choices) -> "Outage":
        """Draw one."""
        services = tuple(ServiceName)
        start = choices.duration(0.0, LATEST_START)
        return cls(
            services[choices.pick(len(services))],
            start,
            start + choices.duration(SHORTEST_SECONDS, LONGEST_SECONDS),
            FAULTS_OF_AN_OUTAGE[choices.pick(len(FAULTS_OF_AN_OUTAGE))],
        )

    def spoils(self, call: str, now: float) -> bool:
        """Tell whether a call of this name fails now."""
        return self.start <= now < self.end and call in self.service.calls


@dataclass
class WithOutages:
    """A fault plan and, on top of it, outages."""

    faults: FaultPlan
    outages: Sequence[Outage]
    clock: Callable[[], float]

    @property
    def injected(self) -> Counter[Fault]:
        """What went wrong so far."""
        return self.faults.injected

    def next(self, call: str) -> Fault | None:
        """Return what goes wrong with this call, if anything does."""
        for outage in self.outages:
            if outage.spoils(call, self.clock()):
                fault = Fault.NOT_DELETED if call == "delete" else outage.fault
                self.injected[fault] += 1
                return fault
        return self.faults.next(call)
