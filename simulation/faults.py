"""The faults of a call, and the plans that decide when they happen."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from simulation.engine.choices import Choices, one_of


class Fault(Enum):
    """A fault of a call."""

    REFUSED = "the connection was refused"
    THROTTLED = "throttled"
    FAILED_BEFORE = "answered 500, and nothing was done"
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
NOT_DONE: Final = {Fault.REFUSED, Fault.THROTTLED, Fault.FAILED_BEFORE}
DONE_UNSEEN: Final = {Fault.FAILED_AFTER, Fault.LOST, Fault.GARBLED}
BATCH_CALLS: Final = {"publish_batch", "send_message_batch", "batch_get_item"}

FAULTS_OF_A_CALL: Final = (
    Fault.REFUSED,
    Fault.THROTTLED,
    Fault.FAILED_BEFORE,
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


class FaultPlan(Protocol):
    """Decides which calls fail."""

    def next(self, call: str) -> Fault | None:
        """Return the fault of this call, if it has one."""
        ...


@dataclass(frozen=True)
class RandomFaults:
    """Each call has one of its possible faults with the same probability."""

    choices: Choices
    rate: float

    def next(self, call: str) -> Fault | None:
        """Return the fault of this call, if it has one."""
        if not self.rate or not self.choices.chance(self.rate):
            return None
        return one_of(self.choices, possible(call))


@dataclass
class EveryFault:
    """Each call has every possible fault in turn, up to the budget of a history."""

    choices: Choices
    budget: int
    kinds: Sequence[Fault]

    def next(self, call: str) -> Fault | None:
        """Return the fault of this call, if it has one."""
        kinds = [fault for fault in possible(call) if fault in self.kinds]
        if not self.budget or not kinds:
            return None
        fault = one_of(self.choices, [None, *kinds])
        self.budget -= fault is not None
        return fault
