"""A ticket and the record of its key agree in the fields that both have."""

from datetime import datetime, timedelta
from typing import Final

from tests.support.old_judge.items import KeyRecord, Ticket
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CHAIN,
    ERASED,
    ERASED_FINGERPRINT,
    FINGERPRINT,
)

Shared = dict[str, object]
"""The fields that a ticket and its key's record share, but for the number."""

_NAMES: Final = ("idempotency_key", FINGERPRINT, ASSIGNED_AT, CHAIN)


def of_ticket(ticket: Ticket) -> Shared:
    """Return the fields that the record of a ticket's key must have."""
    is_erased = ticket.status == ERASED
    fingerprint = ERASED_FINGERPRINT if is_erased else ticket.fingerprint
    shared = {name: ticket.fields.get(name) for name in _NAMES}
    return shared | {FINGERPRINT: fingerprint}


def of_record(record: KeyRecord) -> Shared:
    """Return the fields of a record."""
    return {name: record.fields.get(name) for name in _NAMES}


def expiry_of(ticket: Ticket, retention_days: int) -> datetime | None:
    """Return when the record of a ticket's key may expire; None if nothing says it."""
    if not retention_days:
        return None
    try:
        assigned_at = datetime.fromisoformat(ticket.fields[ASSIGNED_AT])
        expiry = assigned_at + timedelta(days=retention_days)
    except (KeyError, OverflowError, TypeError, ValueError):
        return None
    return expiry if expiry.tzinfo else None


def differences(ticket: Ticket, record: KeyRecord) -> list[str]:
    """Return the names of the fields in which they differ."""
    own, recorded = of_ticket(ticket), of_record(record)
    return [name for name in _NAMES if own[name] != recorded[name]]


def explains(item: Ticket | None, record: KeyRecord) -> bool:
    """Return whether an item of the record's number is the ticket of its key.

    Or stands for it: the chain says that the ticket of this record was lost.
    """
    if item is None:
        return False
    if item.is_lost:
        return item.chain == record.fields.get(CHAIN)
    return not differences(item, record)
