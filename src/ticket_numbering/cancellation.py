"""What the reasons of a cancelled block teach: the next number, or whom to wait for."""

from collections.abc import Collection, Sequence
from itertools import takewhile

from ticket_numbering.errors import (
    SequenceContentionError,
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)
from ticket_numbering.ports import Block, Reason, Slot


def number_past_taken(block: Block, slots: Sequence[Slot]) -> int | None:
    """Return the number after the run of taken ones at the block's start.

    These are committed, for their own conditions failed.
    None where only a read tells: the run has no start here, or no end, or a number is
    from elsewhere, and then the sequence does not go on right after it.
    """
    if any(slot.is_elsewhere for slot in slots):
        return None
    run = len(list(takewhile(lambda slot: slot.is_taken, slots)))
    return block.first_number + run if 0 < run < len(slots) else None


def reason_to_wait(reasons: Collection[Reason]) -> TransientError | None:
    """Tell who is in the way, if anybody is; only a read tells the number then.

    On a conflict the other side may still be cancelled: to move on to the next
    number would leave a gap.
    Throttling counts first, for it asks for more patience.
    """
    if Reason.THROTTLED in reasons:
        return StoreThrottledError("DynamoDB throttled the project's writes")
    if Reason.CONFLICT in reasons:
        return SequenceContentionError("others kept holding the next number")
    if Reason.UNKNOWN in reasons or Reason.CONDITION_FAILED not in reasons:
        return StoreUnavailableError("a transaction was cancelled without a reason")
    return None
