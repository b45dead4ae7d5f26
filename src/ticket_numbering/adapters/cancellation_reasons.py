"""Reads DynamoDB's reasons for a cancelled block, by position."""

from collections.abc import Mapping
from typing import Any, Final

from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.store import Reason, Slot
from ticket_numbering.contract.chain import valid_chain
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CHAIN,
    ORIGIN,
    assignment,
)
from ticket_numbering.contract.head import Head

REASON_BY_CODE: Final = {
    # TransactWriteItems API reference, "TransactionCanceledException".
    "None": Reason.NONE,
    "ConditionalCheckFailed": Reason.CONDITION_FAILED,
    "TransactionConflict": Reason.CONFLICT,
    "ProvisionedThroughputExceeded": Reason.THROTTLED,
    "ThrottlingError": Reason.THROTTLED,
    "ValidationError": Reason.INVALID,
}


def slots_of(cancellation: Mapping[str, Any], block: Block) -> list[Slot]:
    """Return the reasons of each request: those of its ticket and of its key."""
    reasons = cancellation.get("CancellationReasons") or []
    tickets, keys = reasons[::2], reasons[1::2]
    requests = len(block.requests)
    if not len(tickets) == len(keys) == requests:
        return [Slot(Reason.UNKNOWN, Reason.UNKNOWN)] * requests
    return [
        _slot(number, ticket, key)
        for number, (ticket, key) in enumerate(
            zip(tickets, keys, strict=True), block.first_number
        )
    ]


def _slot(number: int, ticket: Mapping[str, Any], key: Mapping[str, Any]) -> Slot:
    recorded = assignment(key["Item"]) if key.get("Item") else None
    key_reason = reason_of(key)
    if key_reason is Reason.CONDITION_FAILED and recorded is None:
        key_reason = Reason.UNKNOWN
    reason, old = reason_of(ticket), ticket.get("Item")
    taken_by = None
    # Without the old item the writer is unknown, and may be a seed or an import.
    if reason is Reason.CONDITION_FAILED and old and ORIGIN not in old:
        taken_by = head_of(number, old)
    return Slot(reason, key_reason, recorded, taken_by)


def head_of(number: int, item: Mapping[str, Any]) -> Head:
    """Return a ticket's item as the head of its sequence; attributes may be damaged."""
    date = item.get(ASSIGNED_AT, {}).get("S", "")
    chain = valid_chain(item.get(CHAIN, {}).get("S"))
    return Head(number, None if ORIGIN in item else date, chain)


def reason_of(cancellation: Mapping[str, Any]) -> Reason:
    """Return the reason of one action of a transaction."""
    return REASON_BY_CODE.get(cancellation.get("Code", ""), Reason.UNKNOWN)
