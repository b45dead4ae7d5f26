"""Erases a ticket's text and the fingerprint of its key, in one transaction.

The chain covers a commitment to salt and fingerprint. The commitment stays, so the
sequence can still be verified; without the salt a guess of the text cannot be tested.
"""

from collections.abc import Mapping
from typing import Final

from ticket_numbering.contract.dynamodb_items import CHAIN, COMMITMENT, NUMBER, STATUS
from ticketctl.aws.items import key_record, put_or_check
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.table_reader import TableReader
from ticketctl.aws.tickets import get_ticket
from ticketctl.ledger.chain import (
    ERASED_TITLE,
    KEPT,
    commitment_to,
    covered_before,
    own_commitment,
)
from ticketctl.ledger.item import Ticket
from ticketctl.ledger.record import KeyRecord, MalformedRecord


def erase(
    stack: StackAccess, ticket: Ticket, marks: Mapping[str, str]
) -> tuple[Ticket, list[str]]:
    """Erase a ticket, and the fingerprint in the record of its key.

    An erased ticket loses the text that it still has.

    Returns:
        The erased ticket, and notes about parts that could not be erased.

    Raises:
        ClientError: Another writer was faster, or AWS rejects the write.
    """
    record, notes = _record_of(stack, ticket)
    fields = {name: value for name, value in ticket.fields.items() if name in KEPT}
    fields |= {"title": ERASED_TITLE, **marks}
    if CHAIN in ticket.fields:
        commitment, lost = _commitment(stack, ticket, record)
        if commitment:
            fields[COMMITMENT] = commitment
        if lost:
            notes.append(f"{ticket.ticket_key}: {lost}; its chain cannot be verified")
    if fields != ticket.fields or _fingerprint(record):
        tickets = stack.outputs["TicketsTableName"]
        puts = [put_or_check(tickets, {}, fields, ticket.fields, _OF_TICKET)]
        if record:
            keys = stack.outputs["IdempotencyKeysTableName"]
            puts.append(
                put_or_check(keys, {}, record.erased(), record.fields, _OF_RECORD)
            )
        stack.client("dynamodb").transact_write_items(TransactItems=puts)
    return ticket.having(fields), notes


_OF_TICKET: Final = ("idempotency_key", STATUS)
_OF_RECORD: Final = (NUMBER,)
"""The attributes that must be unchanged since the read."""


def _record_of(
    stack: StackAccess, ticket: Ticket
) -> tuple[KeyRecord | None, list[str]]:
    """Return the record of the ticket's key, or a note why it is not erased.

    The read is transactional: another read may see a ticket without its record.
    """
    item = TableReader.of(stack).recorded([ticket.key]).get(ticket.key)
    record = key_record(item) if item else None
    if record is None:
        why = "its key has no record, or none any more"
    elif isinstance(record, MalformedRecord):
        why = f"{record}; see: {stack.program} audit"
    elif record.number != ticket.number:
        why = f"its key is recorded for {record.project_id}-{record.number}"
    else:
        return record, []
    return None, [f"{ticket.ticket_key} alone is erased: {why}"]


def _commitment(
    stack: StackAccess, ticket: Ticket, record: KeyRecord | None
) -> tuple[str | None, str]:
    """Return the commitment to the ticket's text, and its problem; "" without one."""
    own = own_commitment(ticket)
    if ticket.is_erased and own:
        return own, ""  # A later addition cannot be better.
    recorded = commitment_to(ticket, _fingerprint(record))
    candidates = [record for record in (recorded, own) if record]
    if not candidates:
        return None, "its salt or its fingerprint is lost"
    before = get_ticket(stack, ticket.project_id, ticket.number - 1)
    previous = before.chain if before else ""
    for commitment in candidates:
        if covered_before(ticket, commitment, previous) is not None:
            return commitment, ""
    return candidates[0], "neither its text nor the record of its key fits it"


def _fingerprint(record: KeyRecord | None) -> str | None:
    """Return the fingerprint of a record; None if it was erased."""
    return record.fingerprint if record and not record.is_erased else None
