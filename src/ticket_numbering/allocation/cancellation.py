"""Decides the next step from the reasons of a cancelled block, without I/O."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.store import Reason, Slot
from ticket_numbering.contract.errors import (
    DamagedKeyRecordError,
    SequenceContentionError,
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import Assignment, RequestKey

OPEN: Final = frozenset({Reason.THROTTLED, Reason.CONFLICT, Reason.UNKNOWN})
"""Reasons that leave it open whether the item will exist."""

OBSTACLES: Final[Mapping[type[TransientError], str]] = {
    StoreThrottledError: "DynamoDB throttled the project's writes",
    SequenceContentionError: "others kept holding the next number",
    StoreUnavailableError: "a transaction was cancelled without a reason",
}


IMMEDIATE_RETRIES: Final = 2
"""The collisions in a row after which the next number is still tried at once.

Then the worker backs off and reads: many workers that increment in step would collide
on every number, and a cancelled write costs more than a read.
"""

TAKEN: Final = "others kept taking the next number"


@dataclass(frozen=True, slots=True)
class NextStep:
    """The step after a cancelled block."""

    answers: Mapping[RequestKey, Assignment | DamagedKeyRecordError]
    """The records of the block's keys; their requests leave the block."""
    collided: bool
    """A committed ticket has a number of the block."""
    conflicted: bool
    """Another transaction holds an item of the block, and may yet be cancelled."""
    head: Head | None = None
    """The committed item before the next block; None if it must be read."""
    error: TransientError | None = None
    """The reason to back off before the head is read."""
    splits: bool = False
    """Whether to split the block: one of its items is invalid."""


def next_step(block: Block, slots: Sequence[Slot], attempts: int) -> NextStep:
    """Decide from the reasons of every request, by position.

    The attempts are those since the last progress, including this one.
    """
    reasons = {slot.ticket for slot in slots} | {slot.key for slot in slots}
    step = NextStep(
        answers={
            request.key: slot.recorded
            for request, slot in zip(block.requests, slots, strict=True)
            if slot.recorded is not None
        },
        collided=any(slot.is_taken for slot in slots),
        conflicted=Reason.CONFLICT in reasons,
    )
    if any(slot.is_invalid for slot in slots):
        return replace(step, head=block.head, splits=True)
    if Reason.CONDITION_FAILED not in reasons or not OPEN.isdisjoint(reasons):
        kind = kind_of(reasons)
        return replace(step, error=kind(OBSTACLES[kind]))
    if not step.collided:
        return replace(step, head=block.head)
    # An answer is progress.
    if attempts > IMMEDIATE_RETRIES and not step.answers:
        return replace(step, error=SequenceContentionError(TAKEN))
    return replace(step, head=_past_taken(slots))


def kind_of(reasons: Collection[Reason]) -> type[TransientError]:
    """Return the error of a cancellation that leaves the items' state open.

    On a conflict the other transaction may still be cancelled: an increment would leave
    a gap. Throttling counts first, because it needs a longer delay.
    """
    if Reason.THROTTLED in reasons:
        return StoreThrottledError
    if Reason.CONFLICT in reasons:
        return SequenceContentionError
    return StoreUnavailableError


def _past_taken(slots: Sequence[Slot]) -> Head | None:
    """Return the last taken number of the run at the block's start.

    The numbers of the run are committed, because their own conditions failed.
    None if the run does not start at the block's first number, or does not end in it,
    or has an external number: the sequence need not continue right after that.
    """
    run = [slot.taken_by for slot in takewhile(lambda slot: slot.is_taken, slots)]
    is_unclear = any(slot.is_taken and slot.taken_by is None for slot in slots)
    return None if is_unclear or len(run) in {0, len(slots)} else run[-1]
