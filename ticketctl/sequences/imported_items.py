"""The items of imported tickets.

They are those that the worker would have written, but for the ticket's `origin`.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from boto3.dynamodb.types import TypeSerializer

from ticket_numbering import dynamodb_items
from ticketctl.sequences.import_lines import Existing
from ticketctl.system.items import ELSEWHERE, Ticket

SEED_ATTRIBUTES: Final = {"reserved_up_to", "reserved_after"}
"""What a reserved item says of its seed; a ticket in its place goes on saying it."""


def ticket_item(ticket: Existing, reserved: Ticket | None = None) -> dict[str, Any]:
    """Return the ticket as the worker writes it, and where its number comes from."""
    before = reserved.fields if reserved else {}
    kept = {name: before[name] for name in SEED_ATTRIBUTES & before.keys()}
    item = dynamodb_items.ticket_item(ticket.request, ticket.number, ticket.assigned_at)
    return _serialized(item | kept | {"origin": ELSEWHERE})


def key_item(ticket: Existing, retention_days: int) -> dict[str, Any]:
    """Return the record of its key; kept from now on, however old the ticket is."""
    expiry = datetime.now(UTC) + timedelta(days=retention_days)
    item = dynamodb_items.key_item(
        ticket.request,
        ticket.number,
        ticket.assigned_at,
        expires_at=int(expiry.timestamp()) if retention_days else None,
    )
    return _serialized(item)


def _serialized(fields: dict[str, Any]) -> dict[str, Any]:
    serialize = TypeSerializer().serialize
    return {name: serialize(value) for name, value in fields.items()}
