"""Compares a ticket and the record of its key in their shared fields."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CHAIN,
    ERASED_FINGERPRINT,
    FINGERPRINT,
)
from ticketctl.ledger.chain import has_unknown_attributes
from ticketctl.ledger.findings import Finding, FindingKind
from ticketctl.ledger.item import Item, Malformed, Reserved, Ticket
from ticketctl.ledger.record import KeyRecord


class Shared(NamedTuple):
    """The fields that a ticket and the record of its key share, except the number.

    Another program may have written any value.
    """

    idempotency_key: Any
    fingerprint: Any
    assigned_at: Any
    chain: Any


def of_ticket(ticket: Ticket) -> Shared:
    """Return the shared fields of a ticket."""
    fingerprint = ERASED_FINGERPRINT if ticket.is_erased else ticket.fingerprint
    return _shared(ticket.fields)._replace(fingerprint=fingerprint)


def of_record(record: KeyRecord) -> Shared:
    """Return the shared fields of a record."""
    return _shared(record.fields)


def _shared(fields: Mapping[str, Any]) -> Shared:
    return Shared(*map(fields.get, Shared._fields))


def expiry_of(ticket: Ticket, retention_days: int) -> datetime | None:
    """Return the earliest expiry of a ticket's key record; None if it is unknown."""
    if not retention_days:
        return None
    try:
        assigned_at = datetime.fromisoformat(ticket.fields[ASSIGNED_AT])
        expiry = assigned_at + timedelta(days=retention_days)
    except (KeyError, OverflowError, TypeError, ValueError):
        return None
    return expiry if expiry.tzinfo else None


def differences(ticket: Ticket, record: KeyRecord) -> list[str]:
    """Return the names of the shared fields that differ."""
    pairs = zip(Shared._fields, of_ticket(ticket), of_record(record), strict=True)
    return [name for name, own, recorded in pairs if own != recorded]


def explains(item: Item | None, record: KeyRecord) -> bool:
    """Return whether the item of a record's number is its ticket, or a lost one.

    A reserved item with the record's chain stands for the lost ticket.
    """
    match item:
        case Ticket():
            return not differences(item, record)
        case Reserved():
            return bool(item.chain) and item.chain == record.fields.get(CHAIN)
        case Malformed() | None:
            return False


def ticket_problems(
    ticket: Ticket, record: KeyRecord | None, named: Item | None
) -> Iterator[Finding]:
    """Yield the finding about a ticket and the record of its key, unless they agree.

    `named` is the item of the record's number.
    """
    project_id, number, key = ticket.project_id, ticket.number, ticket.idempotency_key
    if record is None:
        yield Finding(FindingKind.TICKET_WITHOUT_KEY, project_id, (number,), key)
    elif record.number == number:
        yield from _difference(ticket, record)
    elif isinstance(named, Ticket) and named.idempotency_key == key:
        numbers = min(number, record.number), max(number, record.number)
        yield Finding(FindingKind.DUPLICATE, project_id, numbers, key)
    else:
        yield Finding(FindingKind.MISMATCH, project_id, (number,), key, record.number)


def record_problems(record: KeyRecord, there: Item | None) -> Iterator[Finding]:
    """Yield the finding about a record, unless the item of its number explains it.

    A malformed item is a finding by itself.
    """
    if explains(there, record):
        return
    project_id, key = record.project_id, record.idempotency_key
    match there:
        case Ticket(idempotency_key=own) if own == key:
            yield from _difference(there, record)
        case Ticket():
            yield Finding(FindingKind.GIVEN_TWICE, project_id, (record.number,), key)
        case Reserved() | None:
            yield Finding(
                FindingKind.KEY_WITHOUT_TICKET, project_id, (record.number,), key
            )
        case Malformed():
            pass


def _difference(ticket: Ticket, record: KeyRecord) -> Iterator[Finding]:
    """Yield the finding if a ticket differs from the record of its key.

    If only the fingerprint differs, a later release may be able to verify it.
    """
    if not (differing := differences(ticket, record)):
        return
    kind, numbers = FindingKind.DIFFERING, [ticket.number]
    is_unknown = record.is_later or has_unknown_attributes(ticket)
    if differing == [FINGERPRINT] and is_unknown:
        kind, numbers = FindingKind.NOT_VERIFIABLE, numbers * 2
    key, detail = record.idempotency_key, ", ".join(differing)
    yield Finding(kind, ticket.project_id, tuple(numbers), key, detail=detail)
