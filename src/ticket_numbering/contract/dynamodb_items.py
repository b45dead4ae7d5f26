"""The items of the two tables; plain values to write, DynamoDB's types to read."""

from collections.abc import Mapping
from typing import Any, Final

from ticket_numbering.contract.errors import DamagedKeyRecordError, DamagedSequenceError
from ticket_numbering.contract.field_types import MAX_NUMBER
from ticket_numbering.contract.messages import Assignment, CreateTicket, RequestKey

ORIGIN: Final = "origin"
"""Only a number from elsewhere has it, reserved or imported; docs/seeding.md."""

ELSEWHERE: Final = "elsewhere"
"""The `origin` of a number that another system gave."""

STATUS: Final = "status"
"""Only a ticket that an operator's command wrote or changed has it."""

RESERVED: Final = "reserved"
"""The `status` of an item that only stands for a number used elsewhere."""

VOIDED: Final = "voided"
"""The `status` of a ticket that is not valid; it keeps its number."""

ERASED: Final = "erased"
"""The `status` of a ticket without its text; it keeps its number."""

TIMES: Final = {status: f"{status}_at" for status in (RESERVED, VOIDED, ERASED)}
"""The attribute with the time of a status."""

REASONS: Final = {status: f"{status}_reason" for status in TIMES}
"""The attribute with the reason for a status."""

RESERVED_UP_TO: Final = "reserved_up_to"
"""The last number of the seed that took the number."""

RESERVED_AFTER: Final = "reserved_after"
"""The last number before the seed."""

SEED_ATTRIBUTES: Final = frozenset({RESERVED_UP_TO, RESERVED_AFTER})
"""The seed of a reserved item; a ticket imported in its place keeps them."""

TICKET_ATTRIBUTES: Final = (
    "project_id",
    "number",
    "idempotency_key",
    "assigned_at",
    STATUS,
    ORIGIN,
    RESERVED_UP_TO,
)
"""The attributes of a ticket that a check of the sequence needs."""

KEY_ATTRIBUTES: Final = (
    "id",
    "project_id",
    "idempotency_key",
    "number",
    "fingerprint",
    "assigned_at",
)
"""The attributes of a key's record, but for its expiry."""

Fields = dict[str, Any]


def key_id(key: RequestKey) -> str:
    """Join the key's parts; a project id has no `#`, so no two keys share an id."""
    return f"{key.project_id}#{key.idempotency_key}"


def ticket_item(request: CreateTicket, number: int, assigned_at: str) -> Fields:
    """Return the ticket, without the request's defaults."""
    return request.content() | {
        "number": number,
        "priority": request.priority,
        "assigned_at": assigned_at,
    }


def key_item(
    request: CreateTicket, number: int, assigned_at: str, expires_at: int | None
) -> Fields:
    """Return the record of the request's key.

    Args:
        request: Whose key it is.
        number: The number that the request has.
        assigned_at: When it got the number.
        expires_at: When the record may be deleted, in epoch seconds; never if None.
    """
    record: Fields = {
        "id": key_id(request.key),
        "project_id": request.project_id,
        "idempotency_key": request.idempotency_key,
        "number": number,
        "fingerprint": request.fingerprint,
        "assigned_at": assigned_at,
    }
    if expires_at is not None:
        record["expires_at"] = expires_at
    return record


def ticket_number(project_id: str, item: Mapping[str, Any]) -> int:
    """Return the sort key of a ticket's item.

    Raises:
        DamagedSequenceError: It is none that a ticket can have: negative, a fraction,
            or too large. Another program put the item there.
    """
    digits = item["number"]["N"]
    if digits.isdecimal() and 0 < int(digits) <= MAX_NUMBER:
        return int(digits)
    problem = f"damaged sequence: {project_id} has an item with the number {digits}"
    raise DamagedSequenceError(problem)


def assignment(item: Mapping[str, Any]) -> Assignment | DamagedKeyRecordError:
    """Parse a key record; return the error if it is malformed."""
    match item:
        case {
            "number": {"N": str(number)},
            "fingerprint": {"S": str(fingerprint)},
            "assigned_at": {"S": str(assigned_at)},
        } if number.isdecimal() and int(number) and ":" in fingerprint:
            return Assignment(int(number), fingerprint, assigned_at)
    # Never the values: another program wrote them, and they may be anything.
    item_id = item["id"]["S"]
    return DamagedKeyRecordError(f"damaged record of an idempotency key: {item_id}")
