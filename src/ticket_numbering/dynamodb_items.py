"""The items of the two tables, and what DynamoDB says of them, as our own values."""

from collections.abc import Mapping
from typing import Any, Final

from ticket_numbering.errors import DamagedKeyRecordError
from ticket_numbering.messages import CreateTicket, RequestKey
from ticket_numbering.ports import Assignment, Block, Reason, Slot

ACTIONS_PER_REQUEST: Final = 2

ORIGIN: Final = "origin"
"""Only a number from elsewhere has it, reserved or imported; docs/seeding.md."""

REASONS: Final = {
    # TransactWriteItems API reference, "TransactionCanceledException".
    "None": Reason.NONE,
    "ConditionalCheckFailed": Reason.CONDITION_FAILED,
    "TransactionConflict": Reason.CONFLICT,
    "ProvisionedThroughputExceeded": Reason.THROTTLED,
    "ThrottlingError": Reason.THROTTLED,
    "ValidationError": Reason.INVALID,
}

Item = Mapping[str, Any]


def key_id(key: RequestKey) -> str:
    """Join the key's parts; a project id has no `#`, so no two keys share an id."""
    return f"{key.project_id}#{key.idempotency_key}"


def ticket_item(request: CreateTicket, number: int, assigned_at: str) -> Item:
    """Return the ticket; what the request leaves at its default is left out."""
    ticket = request.model_dump(exclude_defaults=True) | {
        "number": number,
        "priority": request.priority,
        "assigned_at": assigned_at,
    }
    return _item(ticket)


def key_item(
    request: CreateTicket, number: int, assigned_at: str, expires_at: int | None
) -> Item:
    """Return the record of the request's key.

    Args:
        request: Whose key it is.
        number: The number that the request has.
        assigned_at: When it got the number.
        expires_at: When the record may be deleted, in epoch seconds; never if None.
    """
    record: dict[str, str | int] = {
        "id": key_id(request.key),
        "project_id": request.project_id,
        "idempotency_key": request.idempotency_key,
        "number": number,
        "fingerprint": request.fingerprint,
        "assigned_at": assigned_at,
    }
    if expires_at is not None:
        record["expires_at"] = expires_at
    return _item(record)


def _item(fields: Mapping[str, Any]) -> Item:
    return {name: _attribute_value(value) for name, value in fields.items()}


def _attribute_value(value: Any) -> dict[str, Any]:
    """Name the type as DynamoDB does: text, number, list or, else, object."""
    match value:
        case str():
            return {"S": value}
        case int():
            return {"N": str(value)}
        case list():
            return {"L": [_attribute_value(each) for each in value]}
        case _:
            return {"M": _item(value)}


def assignment(item: Item) -> Assignment | DamagedKeyRecordError:
    """Return what an item of the keys' table records, or that it makes no sense."""
    match item:
        case {
            "number": {"N": str(number)},
            "fingerprint": {"S": str(fingerprint)},
            "assigned_at": {"S": str(assigned_at)},
        } if number.isdecimal() and int(number) and ":" in fingerprint:
            return Assignment(int(number), fingerprint, assigned_at, replayed=True)
    # Never the values: somebody else wrote them, and they may be anything.
    item_id = item["id"]["S"]
    return DamagedKeyRecordError(f"damaged record of an idempotency key: {item_id}")


def slots(cancellation: Mapping[str, Any], block: Block) -> list[Slot]:
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
    key_reason = _reason(key)
    if key_reason is Reason.CONDITION_FAILED and recorded is None:
        key_reason = Reason.UNKNOWN
    reason = _reason(ticket)
    # What is not shown may be anything.
    there: Item = ticket.get("Item") or {ORIGIN: None}
    is_elsewhere = reason is Reason.CONDITION_FAILED and ORIGIN in there
    return Slot(reason, key_reason, recorded, is_elsewhere)


def _reason(cancellation: Mapping[str, Any]) -> Reason:
    return REASONS.get(cancellation.get("Code", ""), Reason.UNKNOWN)
