"""Erases a ticket's text and its key's fingerprint, in one transaction.

The chain covers a commitment to salt and fingerprint. The commitment stays, so the
sequence can still be verified; without the salt nobody can test a guess of the text.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from ticket_numbering.contract.chain import chain_of, commitment_of
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CALLERS,
    CHAIN,
    COMMITMENT,
    ERASED,
    ERASED_FINGERPRINT,
    FINGERPRINT,
    IMPORTED_BY,
    NUMBER,
    ORIGIN,
    REASONS,
    SALT,
    SEED_ATTRIBUTES,
    STATUS,
    TIMES,
    VOIDED,
    record_id,
)
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.aws.items import KeyRecord, Ticket, key_record, serialized
from ticketctl.aws.stack import System
from ticketctl.aws.tickets import get_ticket
from ticketctl.cli.errors import NotThereError

ERASED_TITLE: Final = "erased"

KEPT: Final = frozenset(
    {
        *("project_id", NUMBER, "idempotency_key", ASSIGNED_AT),
        *("title", "priority", ORIGIN, IMPORTED_BY, *SEED_ATTRIBUTES),
        *(CHAIN, COMMITMENT, STATUS),
        *(TIMES[VOIDED], REASONS[VOIDED], CALLERS[VOIDED]),
        *(TIMES[ERASED], REASONS[ERASED], CALLERS[ERASED]),
    }
)
"""The attributes that an erased ticket keeps; all others go, known or not."""


def erase(
    stack: System, found: Ticket, marks: Mapping[str, str]
) -> tuple[Ticket, list[str]]:
    """Erase a ticket, and the fingerprint in the record of its key.

    Args:
        stack: The system.
        found: The ticket; if it was erased before, it loses what it still has.
        marks: The attributes to set.

    Returns:
        The ticket then, and what could not be done.

    Raises:
        ClientError: Another writer was faster, or AWS refuses.
    """
    record, remarks = _record_of(stack, found)
    fields = {name: value for name, value in found.fields.items() if name in KEPT}
    fields |= {"title": ERASED_TITLE, **marks}
    if CHAIN in found.fields:
        commitment, lost = _commitment(stack, found, record)
        if commitment:
            fields[COMMITMENT] = commitment
        if lost:
            remarks.append(f"{found.ticket_key}: {lost}; nobody can verify its chain")
    if fields != found.fields or (record and _fingerprint(record)):
        puts = [_put(stack, "TicketsTableName", found.fields, fields, _OF_TICKET)]
        if record:
            erased = {**record.fields, FINGERPRINT: ERASED_FINGERPRINT}
            keys = "IdempotencyKeysTableName"
            puts.append(_put(stack, keys, record.fields, erased, _OF_RECORD))
        stack.client("dynamodb").transact_write_items(TransactItems=puts)
    return replace(found, fields=fields), remarks


_OF_TICKET: Final = ("idempotency_key", STATUS)
_OF_RECORD: Final = (NUMBER, FINGERPRINT)
"""The attributes that must be as they were found."""


def _record_of(stack: System, found: Ticket) -> tuple[KeyRecord | None, list[str]]:
    """Return the record of the ticket's key, or why it is left alone.

    A transaction reads it: a ticket can be seen before the record written with it.
    """
    key = RequestKey(found.project_id, str(found.idempotency_key))
    get = {
        "TableName": stack.outputs["IdempotencyKeysTableName"],
        "Key": record_id(key),
    }
    dynamodb = stack.client("dynamodb")
    [answer] = dynamodb.transact_get_items(TransactItems=[{"Get": get}])["Responses"]
    why = "there is no record of its key, or no more"
    try:
        record = key_record(answer["Item"]) if "Item" in answer else None
    except NotThereError as error:
        record, why = None, str(error)
    if record and record.number == found.number:
        return record, []
    if record:
        why = f"its key is recorded for {record.project_id}-{record.number}"
    return None, [f"{found.ticket_key} alone is erased: {why}"]


def _commitment(
    stack: System, found: Ticket, record: KeyRecord | None
) -> tuple[str | None, str]:
    """Return the commitment to the ticket's text, and its problem; "" without one."""
    kept = found.fields.get(COMMITMENT)
    if found.status == ERASED and isinstance(kept, str):
        return kept, ""  # Nothing that was added since can say it better.
    candidates = [*_candidates(found, record)]
    if not candidates:
        return None, "its salt or its fingerprint is lost"
    before = get_ticket(stack, found.project_id, found.number - 1)
    for commitment in candidates:
        if _fits(found, commitment, before.chain if before else ""):
            return commitment, ""
    return candidates[0], "neither its text nor the record of its key fits it"


def _candidates(found: Ticket, record: KeyRecord | None) -> Iterator[str]:
    """Yield the commitments to the record's fingerprint and to the text's own."""
    salt = found.fields.get(SALT)
    if isinstance(salt, str):
        fingerprints = record and _fingerprint(record), _fingerprint_of_text(found)
        yield from (commitment_of(salt, text) for text in fingerprints if text)


def _fits(found: Ticket, commitment: str, before: str) -> bool:
    """Return whether a ticket's hash covers a commitment."""
    hashes = {
        chain_of(
            previous,
            project_id=found.project_id,
            number=found.number,
            idempotency_key=str(found.idempotency_key),
            commitment=commitment,
            assigned_at=str(found.fields.get(ASSIGNED_AT)),
        )
        for previous in (before, "")
    }
    return found.chain in hashes


def _fingerprint(record: KeyRecord) -> str | None:
    """Return the fingerprint of a record; None if it was erased."""
    fingerprint = record.fields[FINGERPRINT]
    return None if fingerprint == ERASED_FINGERPRINT else fingerprint


def _fingerprint_of_text(found: Ticket) -> str | None:
    """Return the fingerprint of the text, unless it is erased or malformed."""
    names = CreateTicket.model_fields.keys() & found.fields.keys()
    fields = {name: found.fields[name] for name in names}
    try:
        request = CreateTicket.model_validate(fields)
    except ValidationError:
        return None
    return None if found.status == ERASED else request.fingerprint


def _put(
    stack: System,
    table: str,
    found: Mapping[str, Any],
    fields: Mapping[str, Any],
    unchanged: Iterable[str],
) -> dict[str, Any]:
    """Return the put of an item, on condition that these attributes are as found."""
    conditions = [
        f"#{name} = :{name}" if name in found else f"attribute_not_exists(#{name})"
        for name in unchanged
    ]
    values = {f":{name}": found[name] for name in unchanged if name in found}
    return {
        "Put": {
            "TableName": stack.outputs[table],
            "Item": serialized(fields),
            "ConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeNames": {f"#{name}": name for name in unchanged},
            "ExpressionAttributeValues": serialized(values),
        }
    }
