"""Interprets the reasons of a cancelled block: what to do next. Pure; reads nothing."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.store import Reason, Slot
from ticket_numbering.contract.errors import (
    DamagedKeyRecordError,
    SequenceContentionError,
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)
from ticket_numbering.contract.messages import Assignment, RequestKey


@dataclass(frozen=True, slots=True)
class NextStep:
    """What a cancelled block leads to."""

    number: int | None
    """The first number of the next block; None: read the maximum again."""
    answers: Mapping[RequestKey, Assignment | DamagedKeyRecordError]
    """What the idempotency keys of the block already record; these leave the block."""
    collided: bool = False
    """A number of the block is taken, committed."""
    conflicted: bool = False
    """Another transaction holds an item of the block, and may yet be cancelled."""
    must_split: bool = False
    """DynamoDB refuses an item of a request that needs a number."""
    obstacle: TransientError | None = None
    """What to back off for."""


def next_step(block: Block, slots: Sequence[Slot]) -> NextStep:
    """Decide by every reason, position by position.

    Args:
        block: What was cancelled.
        slots: One for each of its requests.
    """
    answers = {
        request.key: slot.recorded
        for request, slot in zip(block.requests, slots, strict=True)
        if slot.recorded is not None
    }
    reasons = {slot.ticket for slot in slots} | {slot.key for slot in slots}
    collided = any(slot.is_taken for slot in slots)
    must_split = any(slot.is_invalid for slot in slots)
    obstacle = None if must_split else _obstacle(reasons)
    number: int | None = block.first_number
    if obstacle:
        number = None
    elif collided:
        number = _number_past_taken(block, slots)
    return NextStep(
        number,
        answers,
        collided,
        Reason.CONFLICT in reasons,
        must_split,
        obstacle,
    )


def _number_past_taken(block: Block, slots: Sequence[Slot]) -> int | None:
    """Return the number after the run of taken ones at the block's start.

    These are committed, for their own conditions failed.
    None where only a read tells: the run has no start here, or no end, or a number is
    from elsewhere, and then the sequence does not go on right after it.
    """
    if any(slot.is_elsewhere for slot in slots):
        return None
    run = len(list(takewhile(lambda slot: slot.is_taken, slots)))
    return block.first_number + run if 0 < run < len(slots) else None


def _obstacle(reasons: Collection[Reason]) -> TransientError | None:
    """Return what to back off for, if anything.

    On a conflict the other side may still be cancelled: to increment then would
    leave a gap.
    Throttling counts first, because it asks for a longer delay.
    """
    if Reason.THROTTLED in reasons:
        return StoreThrottledError("DynamoDB throttled the project's writes")
    if Reason.CONFLICT in reasons:
        return SequenceContentionError("others kept holding the next number")
    if Reason.UNKNOWN in reasons or Reason.CONDITION_FAILED not in reasons:
        return StoreUnavailableError("a transaction was cancelled without a reason")
    return None
