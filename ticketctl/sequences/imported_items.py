"""The items of imported tickets.

They are those that the worker would have written, but for the ticket's `origin`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from boto3.dynamodb.types import TypeSerializer

from ticketctl.send.contract import significant
from ticketctl.sequences.fingerprint import fingerprint
from ticketctl.sequences.import_lines import Existing
from ticketctl.system.items import ELSEWHERE


def ticket_item(ticket: Existing) -> dict[str, Any]:
    """Return the ticket as the worker writes it, and where its number comes from."""
    return _item(
        asked_for(ticket)
        | {
            "number": ticket.number,
            "assigned_at": ticket.assigned_at,
            "origin": ELSEWHERE,
        }
    )


def key_item(ticket: Existing, retention_days: int) -> dict[str, Any]:
    """Return the record of its key; kept from now on, however old the ticket is."""
    record: dict[str, Any] = {
        "id": f"{ticket.project_id}#{ticket.idempotency_key}",
        "project_id": ticket.project_id,
        "idempotency_key": ticket.idempotency_key,
        "number": ticket.number,
        "fingerprint": fingerprint(ticket.fields),
        "assigned_at": ticket.assigned_at,
    }
    if retention_days:
        expiry = datetime.now(UTC) + timedelta(days=retention_days)
        record["expires_at"] = int(expiry.timestamp())
    return _item(record)


def asked_for(ticket: Existing) -> dict[str, Any]:
    """Return what its item holds of the request, as Python values."""
    priority = {"priority": ticket.fields.get("priority", "medium")}
    return significant(ticket.fields) | priority


def _item(fields: Mapping[str, Any]) -> dict[str, Any]:
    serialize = TypeSerializer().serialize
    return {name: serialize(value) for name, value in fields.items()}
