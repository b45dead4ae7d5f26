"""Interprets the reasons of a cancelled block: the next step. Pure; reads nothing."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.head import Head
from ticket_numbering.allocation.store import Reason, Slot
from ticket_numbering.contract.errors import (
    DamagedKeyRecordError,
    SequenceContentionError,
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)
from ticket_numbering.contract.messages import Assignment, RequestKey

OPEN: Final = frozenset({Reason.THROTTLED, Reason.CONFLICT, Reason.UNKNOWN})
"""Reasons that leave it open whether the item will exist."""

OBSTACLES: Final[Mapping[type[TransientError], str]] = {
    StoreThrottledError: "DynamoDB throttled the project's writes",
    SequenceContentionError: "others kept holding the next number",
    StoreUnavailableError: "a transaction was cancelled without a reason",
}


@dataclass(frozen=True, slots=True)
class TryAt:
    """Write the next block after this item, which is committed."""

    head: Head


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """Read the head: the reasons do not tell it."""


@dataclass(frozen=True, slots=True)
class BackOff:
    """Wait, and then read the head."""

    error: TransientError


@dataclass(frozen=True, slots=True)
class Split:
    """Write less at once, after the same head: DynamoDB refuses one of the items."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """The step after a cancelled block."""

    action: TryAt | ReadAgain | BackOff | Split
    answers: Mapping[RequestKey, Assignment | DamagedKeyRecordError]
    """The records of the block's keys; their requests leave the block."""
    collided: bool = False
    """A number of the block is taken, committed."""
    conflicted: bool = False
    """Another transaction holds an item of the block, and may yet be cancelled."""


def next_step(block: Block, slots: Sequence[Slot]) -> NextStep:
    """Decide by every reason, position by position.

    Args:
        block: The cancelled block.
        slots: One for each of its requests.
    """
    reasons = {slot.ticket for slot in slots} | {slot.key for slot in slots}
    return NextStep(
        action=_action(block, slots, reasons),
        answers={
            request.key: slot.recorded
            for request, slot in zip(block.requests, slots, strict=True)
            if slot.recorded is not None
        },
        collided=any(slot.is_taken for slot in slots),
        conflicted=Reason.CONFLICT in reasons,
    )


def _action(
    block: Block, slots: Sequence[Slot], reasons: Collection[Reason]
) -> TryAt | ReadAgain | BackOff | Split:
    if any(slot.is_invalid for slot in slots):
        return Split()
    if Reason.CONDITION_FAILED not in reasons or not OPEN.isdisjoint(reasons):
        kind = kind_of(reasons)
        return BackOff(kind(OBSTACLES[kind]))
    if any(slot.is_taken for slot in slots):
        return _past_taken(slots)
    return TryAt(block.head)


def kind_of(reasons: Collection[Reason]) -> type[TransientError]:
    """Return the error of a cancellation that says nothing about the items.

    On a conflict the other side may still be cancelled: to increment then would
    leave a gap.
    Throttling counts first, because it asks for a longer delay.
    """
    if Reason.THROTTLED in reasons:
        return StoreThrottledError
    if Reason.CONFLICT in reasons:
        return SequenceContentionError
    return StoreUnavailableError


def _past_taken(slots: Sequence[Slot]) -> TryAt | ReadAgain:
    """Go past the run of taken numbers at the block's start.

    These are committed, for their own conditions failed.
    Only a read tells where the run has no start here, or no end, or a number is
    external, and then the sequence does not go on right after it.
    """
    run = [slot.taken_by for slot in takewhile(lambda slot: slot.is_taken, slots)]
    last = run[-1] if run else None
    is_unclear = any(slot.is_taken and slot.taken_by is None for slot in slots)
    if last is None or is_unclear or len(run) == len(slots):
        return ReadAgain()
    return TryAt(last)
