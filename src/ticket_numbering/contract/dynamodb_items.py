"""The items of the two tables; plain values to write, DynamoDB's types to read."""

from collections.abc import Mapping
from typing import Any, Final

from ticket_numbering.contract.chain import valid_chain
from ticket_numbering.contract.errors import DamagedKeyRecordError, DamagedSequenceError
from ticket_numbering.contract.messages import (
    CONTENT_DEFAULTS,
    Assignment,
    CreateTicket,
    RequestKey,
)
from ticket_numbering.contract.values import MAX_NUMBER

NUMBER: Final = "number"
"""The sort key of a ticket; the record of its key has it, too."""

ASSIGNED_AT: Final = "assigned_at"
"""The time of the assignment, in a ticket and in the record of its key."""

RECORD_ID: Final = "id"
"""The table key of a key's record; `key_id` makes its value."""

FINGERPRINT: Final = "fingerprint"
"""The hash of the request's content, in the record of its key."""

EXPIRES_AT: Final = "expires_at"
"""The time after which DynamoDB may delete a key's record, in epoch seconds."""

ORIGIN: Final = "origin"
"""Set only on an item of an external number, reserved or imported; docs/seeding.md."""

EXTERNAL: Final = "elsewhere"
"""The `origin` of a number that another system gave."""

STATUS: Final = "status"
"""Set only by operator commands."""

RESERVED: Final = "reserved"
"""The `status` of an item that reserves an external number and is no ticket."""

VOIDED: Final = "voided"
"""The `status` of a ticket that is not valid; it keeps its number."""

ERASED: Final = "erased"
"""The `status` of a ticket without its text; it keeps its number."""

TIMES: Final = {status: f"{status}_at" for status in (RESERVED, VOIDED, ERASED)}
"""The attribute with the time of a status."""

REASONS: Final = {status: f"{status}_reason" for status in TIMES}
"""The attribute with the reason for a status."""

CALLERS: Final = {status: f"{status}_by" for status in TIMES}
"""The attribute with the ARN of the caller who set a status."""

IMPORTED_BY: Final = "imported_by"
"""The attribute with the ARN of the caller who imported a ticket."""

RESERVED_UP_TO: Final = "reserved_up_to"
"""The last number of the seed that took the number."""

RESERVED_AFTER: Final = "reserved_after"
"""The last number before the seed."""

SEED_ATTRIBUTES: Final = frozenset({RESERVED_UP_TO, RESERVED_AFTER})
"""The seed of a reserved item; a ticket imported in its place keeps them."""

CHAIN: Final = "chain"
"""The hash of a ticket that the worker numbered; the record of its key has it, too."""

SALT: Final = "salt"
"""The random salt of a ticket's hash; only the ticket has it."""

COMMITMENT: Final = "commitment"
"""The hash of text and salt; only an erased ticket has it, in place of both."""

ERASED_FINGERPRINT: Final = f"{ERASED}:"
"""Marks the key of an erased ticket; repeats are matched by key alone."""

HEAD_ATTRIBUTES: Final = (NUMBER, ASSIGNED_AT, CHAIN, ORIGIN)
"""The attributes of a ticket that the next ticket depends on."""

COVERED: Final = CONTENT_DEFAULTS.keys() | {NUMBER, ASSIGNED_AT, CHAIN, SALT}
"""The attributes of a ticket that its hash covers, and the hash itself."""

MARKED: Final = {
    status: {STATUS, TIMES[status], REASONS[status], CALLERS[status]}
    for status in TIMES
}
"""The attributes that each status adds."""

ATTRIBUTES: Final = COVERED.union(
    {COMMITMENT, ORIGIN, IMPORTED_BY}, SEED_ATTRIBUTES, *MARKED.values()
)
"""All attributes that this release writes to items of the Tickets table."""

Fields = dict[str, Any]


def key_id(key: RequestKey) -> str:
    """Join the key's parts; a project id has no `#`, so the id is unique."""
    return f"{key.project_id}#{key.idempotency_key}"


def key_of_id(record_id: str) -> RequestKey:
    """Return the key of a record's id; missing parts are empty."""
    project_id, _, idempotency_key = record_id.partition("#")
    return RequestKey(project_id, idempotency_key)


def record_id(key: RequestKey) -> Fields:
    """Return the table key of a key's record, in DynamoDB's types."""
    return {RECORD_ID: {"S": key_id(key)}}


def ticket_id(project_id: str, number: int) -> Fields:
    """Return the table key of a ticket, in DynamoDB's types."""
    return {"project_id": {"S": project_id}, NUMBER: {"N": str(number)}}


def ticket_item(
    request: CreateTicket, assignment: Assignment, salt: str | None = None
) -> Fields:
    """Return a ticket's item, without defaults; without a salt it has no chain."""
    item = request.content() | {
        NUMBER: assignment.number,
        "priority": request.priority,
        ASSIGNED_AT: assignment.assigned_at,
    }
    if assignment.chain and salt:
        item |= {CHAIN: assignment.chain, SALT: salt}
    return item


def key_item(key: RequestKey, assignment: Assignment, expires_at: int | None) -> Fields:
    """Return the record of a key; it expires at an epoch second, or never."""
    record: Fields = {
        RECORD_ID: key_id(key),
        **key._asdict(),
        NUMBER: assignment.number,
        FINGERPRINT: assignment.fingerprint,
        ASSIGNED_AT: assignment.assigned_at,
    }
    if assignment.chain:
        record[CHAIN] = assignment.chain
    if expires_at is not None:
        record[EXPIRES_AT] = expires_at
    return record


def ticket_number(project_id: str, item: Mapping[str, Any]) -> int:
    """Return the sort key of a ticket's item.

    Raises:
        DamagedSequenceError: It is no number of a ticket: negative, a fraction, or too
            large. Another program put the item there.
    """
    digits = item[NUMBER]["N"]
    if digits.isdecimal() and 0 < int(digits) <= MAX_NUMBER:
        return int(digits)
    problem = f"damaged sequence: {project_id} has an item with the number {digits}"
    raise DamagedSequenceError(problem)


def assignment(item: Mapping[str, Any]) -> Assignment | DamagedKeyRecordError:
    """Parse a key record; return the error if it is malformed."""
    number, fingerprint, assigned_at = (
        item.get(NUMBER, {}).get("N", ""),
        item.get(FINGERPRINT, {}).get("S", ""),
        item.get(ASSIGNED_AT, {}).get("S"),
    )
    is_number = number.isdecimal() and int(number)
    if is_number and ":" in fingerprint and assigned_at is not None:
        chain = valid_chain(item.get(CHAIN, {}).get("S")) or None
        return Assignment(int(number), fingerprint, assigned_at, chain)
    # The values are left out: another program wrote them.
    item_id = item[RECORD_ID]["S"]
    return DamagedKeyRecordError(f"damaged record of an idempotency key: {item_id}")
