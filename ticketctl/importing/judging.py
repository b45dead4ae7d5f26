"""Judges a ticket of another system by the tables: there already, missing, or refused.

The ledger's judge decides whether an item may have a number; an import adds that no
worker assigned the number.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ticket_numbering.contract import dynamodb_items
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CHAIN,
    EXTERNAL,
    IMPORTED_BY,
    ORIGIN,
    SEED_ATTRIBUTES,
)
from ticket_numbering.contract.events import ticket_key
from ticketctl import PROGRAM
from ticketctl.importing.lines import ExternalTicket
from ticketctl.ledger.findings import Finding, FindingKind
from ticketctl.ledger.item import Item, ItemKind, Reserved, Ticket, parse
from ticketctl.ledger.judge import Window, judge, new_findings
from ticketctl.ledger.record import KeyRecord, MalformedRecord, Record
from ticketctl.ledger.standing import Neighbours

ALREADY: Final = "there already"
MISSING: Final = "missing"
UNRECORDED: Final = "there without a record of its key, whose time may be over"

_RESTORE: Final = "ticketctl restore puts it back from an export"


@dataclass(frozen=True)
class Judge:
    """Judges the lines of a file, and makes their items."""

    caller: str
    """The ARN of the caller."""
    retention_days: int = 0
    program: str = PROGRAM

    def result(
        self,
        ticket: ExternalTicket,
        around: Neighbours,
        record: Record | None,
        *,
        is_seeded: bool,
    ) -> str:
        """Return `ALREADY`, `UNRECORDED`, `MISSING`, or the reason of a refusal.

        After the start of an import the seeds around the ticket are finished.
        """
        if isinstance(record, MalformedRecord):
            return f"its idempotency_key is taken: {record}; see: {self.program} audit"
        there = around.there
        if there and not gives_way(there):
            return comparison(ticket, there) or self._recorded(ticket, record)
        items = [item for item in (there, around.above) if item]
        records = {ticket.request.key: record}
        before = Window(ticket.project_id, items, around.below, records=records)
        item, made = self.items(ticket, there, record)
        own = record or KeyRecord(*ticket.request.key, ticket.number, made)
        after = before.having(parse(item), own)
        new = new_findings(judge(before), judge(after))
        if record and (
            keyed := [finding for finding in new if finding.idempotency_key]
        ):
            return _key_problem(keyed[0], record)
        kinds = {finding.kind for finding in new} | {around.hole}
        if FindingKind.GAP in kinds:
            return f"it is missing among numbers that were given here; {_RESTORE}"
        is_open = FindingKind.UNFINISHED_SEED in kinds or not items  # Of above it.
        if is_seeded and is_open:
            return "a worker may still take its number: run this again"
        return MISSING

    def items(
        self, ticket: ExternalTicket, there: Item | None, record: KeyRecord | None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the ticket's item, with origin and caller, and the record of its key.

        The record's retention begins now. An earlier import may have recorded the date.
        """
        assigned = ticket.assignment
        if record and isinstance(date := record.fields.get(ASSIGNED_AT), str):
            assigned = replace(assigned, assigned_at=date)
        before = there.fields if there else {}
        kept = {name: before[name] for name in SEED_ATTRIBUTES & before.keys()}
        item = dynamodb_items.ticket_item(ticket.request, assigned)
        due = None
        if self.retention_days:
            expiry = datetime.now(UTC) + timedelta(days=self.retention_days)
            due = int(expiry.timestamp())
        recorded = dynamodb_items.key_item(ticket.request.key, assigned, due)
        return item | kept | {ORIGIN: EXTERNAL, IMPORTED_BY: self.caller}, recorded

    def _recorded(self, ticket: ExternalTicket, record: KeyRecord | None) -> str:
        """Judge an existing ticket by the record of its key."""
        if record and record.number == ticket.number:
            return ALREADY
        if self.retention_days:  # It may have expired, and the key been used again.
            return UNRECORDED
        if record:
            return _of_another(record)
        return f"its idempotency_key has no record; see: {self.program} audit"


def gives_way(there: Item) -> bool:
    """Return whether a ticket can replace an item; a lost ticket's hash must stay."""
    return isinstance(there, Reserved) and there.kind is not ItemKind.LOST


def comparison(ticket: ExternalTicket, there: Item) -> str:
    """Return the difference of the item with that number; "" if it is the ticket."""
    if isinstance(there, Reserved):
        return f"a lost ticket has this number; {_RESTORE}"
    if not isinstance(there, Ticket) or there.key != ticket.request.key:
        return "another ticket has this number"
    if there.is_erased or there.fingerprint == ticket.request.fingerprint:
        return ""
    return "the ticket of this number and idempotency_key has another text"


def _key_problem(finding: Finding, record: KeyRecord) -> str:
    """Return the problem of a ticket's key, by the finding that would result."""
    if finding.kind in {FindingKind.MISMATCH, FindingKind.DUPLICATE}:
        return _of_another(record)
    if record.is_erased:
        return f"its text was erased here; {_RESTORE}"
    if CHAIN in record.fields:
        return f"it was numbered here; {_RESTORE}"
    return "its idempotency_key is recorded for another text"


def _of_another(record: KeyRecord) -> str:
    number = ticket_key(record.project_id, record.number)
    return f"its idempotency_key is that of {number}"
