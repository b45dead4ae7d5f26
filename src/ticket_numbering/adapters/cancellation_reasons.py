"""Reads why DynamoDB cancelled a block, position by position."""

from collections.abc import Mapping
from typing import Any, Final

from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.store import Reason, Slot
from ticket_numbering.contract.dynamodb_items import ORIGIN, assignment

ACTIONS_PER_REQUEST: Final = 2

REASONS: Final = {
    # TransactWriteItems API reference, "TransactionCanceledException".
    "None": Reason.NONE,
    "ConditionalCheckFailed": Reason.CONDITION_FAILED,
    "TransactionConflict": Reason.CONFLICT,
    "ProvisionedThroughputExceeded": Reason.THROTTLED,
    "ThrottlingError": Reason.THROTTLED,
    "ValidationError": Reason.INVALID,
}


def slots_of(cancellation: Mapping[str, Any], block: Block) -> list[Slot]:
    """Read the reasons by position: a ticket's, then its key's, request by request."""
    reasons = cancellation.get("CancellationReasons", [])
    requests = len(block.requests)
    if len(reasons) != ACTIONS_PER_REQUEST * requests:
        return [Slot(Reason.UNKNOWN, Reason.UNKNOWN)] * requests
    return [
        _slot(ticket, key)
        for ticket, key in zip(reasons[::2], reasons[1::2], strict=True)
    ]


def _slot(ticket: Mapping[str, Any], key: Mapping[str, Any]) -> Slot:
    recorded = assignment(key["Item"]) if key.get("Item") else None
    key_reason = reason_of(key)
    if key_reason is Reason.CONDITION_FAILED and recorded is None:
        key_reason = Reason.UNKNOWN
    reason, old = reason_of(ticket), ticket.get("Item")
    # Without the old item its writer is unknown: assume a seed or an import.
    is_foreign = not old or ORIGIN in old
    is_elsewhere = reason is Reason.CONDITION_FAILED and is_foreign
    return Slot(reason, key_reason, recorded, is_elsewhere)


def reason_of(cancellation: Mapping[str, Any]) -> Reason:
    """Return the reason of one action."""
    return REASONS.get(cancellation.get("Code", ""), Reason.UNKNOWN)
