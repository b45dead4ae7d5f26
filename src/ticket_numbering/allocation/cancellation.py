"""Interprets the reasons of a cancelled block: the next step. Pure; reads nothing."""

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
"""Collisions in a row after which the incremented number is tried at once.

After that the worker backs off and reads: many workers that increment in step would
collide on every number, and a cancelled write costs more than a read.
"""

TAKEN: Final = "others kept taking the next number"


@dataclass(frozen=True, slots=True)
class NextStep:
    """The step after a cancelled block."""

    answers: Mapping[RequestKey, Assignment | DamagedKeyRecordError]
    """The records of the block's keys; their requests leave the block."""
    collided: bool
    """A number of the block is taken, committed."""
    conflicted: bool
    """Another transaction holds an item of the block, and may yet be cancelled."""
    head: Head | None = None
    """The item to write the next block after, which is committed; None: to be read."""
    error: TransientError | None = None
    """Why to wait before the head is read."""
    splits: bool = False
    """Whether to write less at once: DynamoDB refuses one of the items."""


def next_step(block: Block, slots: Sequence[Slot], attempts: int) -> NextStep:
    """Decide by every reason, position by position: a slot for each request.

    The attempts are those since the last progress, with this one.
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


def _past_taken(slots: Sequence[Slot]) -> Head | None:
    """Return the last of the run of taken numbers at the block's start.

    These are committed, for their own conditions failed.
    None where the run has no start here, or no end, or a number is external, and then
    the sequence does not go on right after it.
    """
    run = [slot.taken_by for slot in takewhile(lambda slot: slot.is_taken, slots)]
    is_unclear = any(slot.is_taken and slot.taken_by is None for slot in slots)
    return None if is_unclear or len(run) in {0, len(slots)} else run[-1]
