"""The faults of calls, outages of whole services, and the plans that draw them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Final

from simulation.engine.choices import Choices, one_of
from simulation.engine.scheduler import Scheduler


class Fault(Enum):
    """A fault of a call."""

    REFUSED = "the connection was refused"
    THROTTLED = "throttled"
    FAILED_BEFORE = "answered 500, and nothing was done"
    DENIED = "AWS refused it for a missing right"
    MISSING = "AWS refused it for a missing resource"
    KEY_DISABLED = "AWS refused it for a disabled encryption key"
    UNFORESEEN = "AWS refused it with an unknown code"
    FAILED_AFTER = "answered 500, but it was done"
    LOST = "the answer was lost"
    GARBLED = "the answer was no answer of the service"
    HUNG = "it was never answered, and nothing was done"
    LATE = "it was done after the caller had given up"
    PARTIAL = "some entries failed in an answer of 200"
    KILLED_BEFORE = "the caller was killed before the call"
    KILLED_DURING = "the caller was killed while it waited"
    KILLED_AFTER = "the caller was killed before it saw the answer"
    DUPLICATED = "a message was delivered while it was being worked on"
    NOT_DELETED = "Lambda failed to delete a message that was done"
    SENT_TWICE = "a producer sent a message again"


KILLS: Final = {Fault.KILLED_BEFORE, Fault.KILLED_DURING, Fault.KILLED_AFTER}
REFUSALS: Final = (
    Fault.DENIED,
    Fault.MISSING,
    Fault.KEY_DISABLED,
    Fault.UNFORESEEN,
)
NOT_DONE: Final = {Fault.REFUSED, Fault.THROTTLED, Fault.FAILED_BEFORE, *REFUSALS}
DONE_UNSEEN: Final = {Fault.FAILED_AFTER, Fault.LOST, Fault.GARBLED}
BATCH_CALLS: Final = {"publish_batch", "send_message_batch", "batch_get_item"}

FAULTS_OF_A_CALL: Final = (
    Fault.REFUSED,
    Fault.THROTTLED,
    Fault.FAILED_BEFORE,
    Fault.UNFORESEEN,
    Fault.FAILED_AFTER,
    Fault.LOST,
    Fault.GARBLED,
    Fault.LATE,
    Fault.KILLED_BEFORE,
    Fault.KILLED_DURING,
    Fault.KILLED_AFTER,
)
FAULTS_OF_LAMBDA: Final = {
    "receive": (Fault.DUPLICATED,),
    "delete": (Fault.NOT_DELETED,),
    "send_message": (Fault.SENT_TWICE,),
}


def possible(call: str) -> tuple[Fault, ...]:
    """Return the faults that a call of this name can have."""
    if call in FAULTS_OF_LAMBDA:
        return FAULTS_OF_LAMBDA[call]
    # A batch fails in part as often as it fails in the other ways that lose nothing.
    return FAULTS_OF_A_CALL + ((Fault.PARTIAL,) * 3 if call in BATCH_CALLS else ())


SHORTEST_OUTAGE_SECONDS: Final = 60.0
LONGEST_OUTAGE_SECONDS: Final = 3600.0
LATEST_OUTAGE_START_SECONDS: Final = 60.0
ENDLESS_OUTAGES: Final = 0.1
"""The share of outages that nobody ends."""
FAULTS_OF_AN_OUTAGE: Final = (
    Fault.HUNG,
    Fault.REFUSED,
    Fault.THROTTLED,
    Fault.FAILED_BEFORE,
    *REFUSALS,
)

SERVICES: Final[Mapping[str, Collection[str]]] = {
    "DynamoDB": {
        "query",
        "get_item",
        "batch_get_item",
        "put_item",
        "update_item",
        "delete_item",
        "transact_get_items",
        "transact_write_items",
    },
    "SNS": {"publish_batch"},
    "SQS": {"send_message_batch", "delete"},
}
"""The calls that a service answers; SQS answers Lambda's deletions, too."""


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
    """Decides which calls fail; of this plan, none does."""

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


@dataclass
class EveryFault(FaultPlan):
    """Each call has every possible fault in turn, up to the budget of a history."""

    choices: Choices
    budget: int
    kinds: Sequence[Fault]

    def draw(self, call: str) -> Fault | None:
        """Return no fault, or in turn each of the kinds that the call can have."""
        kinds = [fault for fault in possible(call) if fault in self.kinds]
        if self.injected.total() >= self.budget or not kinds:
            return None
        return one_of(self.choices, [None, *kinds])
