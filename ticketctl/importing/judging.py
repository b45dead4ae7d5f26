"""Judges a ticket of a file by the tables: there already, to be written, or refused.

A ticket whose number a record names, or whose hash the next ticket covers, was given
here, and goes back as it was; any other one is of another system.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ticket_numbering.contract import dynamodb_items
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    ATTRIBUTES,
    CHAIN,
    ERASED,
    EXTERNAL,
    FINGERPRINT,
    IMPORTED_BY,
    ORIGIN,
    SEED_ATTRIBUTES,
)
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticketctl.aws.items import key_record
from ticketctl.cli.output import program
from ticketctl.importing.existing import Existing
from ticketctl.ledger.agreement import differences, expiry_of, of_ticket
from ticketctl.ledger.item import Item, Malformed, Reserved, Ticket
from ticketctl.ledger.record import KeyRecord, MalformedRecord
from ticketctl.ledger.standing import Around, covers, is_external, problem_of

ALREADY: Final = "there already"
UNRECORDED: Final = "there without a record, whose time is over"

_ADDED: Final = ATTRIBUTES - CreateTicket.model_fields.keys()
"""Attributes of a ticket that are not of its request."""


@dataclass(frozen=True)
class Known:
    """What is known about a line beside the items around its number."""

    ticket: Existing
    record: Mapping[str, Any] | None = None
    """The item of its key's record."""
    previous: str | None = ""
    """The hash of the number before it, by the file; None if it lacks that number."""
    is_inside: bool = False
    """Whether the tables have a higher number, so that it leaves no gap before it."""
    is_witnessed: bool = False
    """Whether the file's next ticket, which goes back, covers its hash."""
    is_seeded: bool = True
    """Whether all seeds around it are finished; before the import they may not be."""

    def hash_before(self, around: Around) -> str | None:
        """Return the hash of the number before it, by the tables or else the file.

        None says that neither has the ticket of that number.
        """
        before = self.ticket.number - 1
        below = around.below
        there = below if below and below.number == before else None
        # A ticket stays as it is, with or without a hash; a reserved number gives way.
        if isinstance(there, Ticket) or (there and there.chain):
            return there.chain
        is_known = before == 0 or isinstance(there, Malformed)
        return "" if is_known and self.previous is None else self.previous


@dataclass(frozen=True)
class Write:
    """What a transaction writes: a ticket and the record of its key."""

    ticket: Mapping[str, Any] | None
    """None leaves the ticket that is there."""
    record: Mapping[str, Any] | None = None
    """None leaves the record that is there."""
    is_external: bool = False


@dataclass(frozen=True)
class Judge:
    """Judges the lines of a file for one system."""

    caller: str
    """The ARN of the caller."""
    retention_days: int = 0

    def verdict(self, known: Known, around: Around) -> Write | str:
        """Return what is to be written, `ALREADY`, or why the ticket is refused."""
        ticket, place = known.ticket, around.there
        record = key_record(known.record) if known.record else None
        if isinstance(record, MalformedRecord):
            return f"its idempotency_key is taken: {record}"
        there: Ticket | None = None
        if place is not None and not may_replace(ticket, place):
            difference = comparison(ticket, place)
            if difference != ALREADY or not isinstance(place, Ticket):
                return difference
            there = place
        if there and record and record.number != there.number:
            # A key whose time was over may have been used again.
            record = record if self._record_of(there) else None
        if record and record.number != ticket.number:
            key = f"{record.project_id}-{record.number}"
            return f"its idempotency_key is that of {key}"
        if there:
            return self._recording(there, known.hash_before(around), record)
        if record:
            return self._returning(known, around, record)
        return self._missing(known, around)

    def _recording(
        self, there: Ticket, previous: str | None, recorded: KeyRecord | None
    ) -> Write | str:
        """Judge a ticket that is there by the record of its key."""
        if recorded:
            # The record may be older than the ticket's erasure.
            is_older = differences(there, recorded) == [FINGERPRINT]
            if is_older and there.is_erased:
                return Write(None, recorded.erased())
            return ALREADY
        record = self._record_of(there)
        if record is None:
            return UNRECORDED
        if problem := problem_of(there, previous):
            return f"its idempotency_key has no record, and gets none: {problem}"
        return Write(None, record)

    def _returning(
        self, known: Known, around: Around, record: KeyRecord
    ) -> Write | str:
        """Judge a missing ticket that the record of its key names."""
        ticket = known.ticket
        if record.is_erased and not ticket.is_erased:
            return "its text was erased since: only the erased ticket can go back"
        if ticket.is_exported:
            return _going_back(known, around, record)
        if CHAIN in record.fields:
            return "it was given here, and the line lacks its hash: take an export"
        if record.fingerprint != ticket.request.fingerprint:
            return "its idempotency_key is recorded for another text"
        dated = replace(ticket, assigned_at=str(record.fields[ASSIGNED_AT]))
        return Write(self._item(dated, around.there))

    def _missing(self, known: Known, around: Around) -> Write | str:
        """Judge a missing ticket whose key has no record."""
        ticket, place = known.ticket, around.there
        if ticket.chain:
            # The item of the lost ticket has its hash, or the next ticket covers it.
            is_witnessed = (
                known.is_witnessed
                or (place is not None and place.chain == ticket.chain)
                or covers(around.above, ticket.chain)
            )
            previous = known.hash_before(around)
            problem = problem_of(ticket, previous)
            if is_witnessed and not problem:
                return Write(ticket.fields, self._record_of(ticket))
            if is_witnessed and previous is None:
                return f"it cannot go back: {problem}"
        if place and place.chain:
            return comparison(ticket, place)
        # The file's next ticket starts a segment, so this number was external.
        is_last = known.is_witnessed and not ticket.chain
        if not (
            is_last or is_external(ticket.number, around, is_seeded=known.is_seeded)
        ):
            return _no_place(known)
        record = dynamodb_items.key_item(
            ticket.request.key, ticket.assignment, self._due_from(datetime.now(UTC))
        )
        return Write(self._item(ticket, place), record, is_external=True)

    def _item(self, ticket: Existing, place: Item | None) -> dict[str, Any]:
        """Return the ticket as the worker writes it, with its origin and the caller."""
        before = place.fields if place else {}
        kept = {name: before[name] for name in SEED_ATTRIBUTES & before.keys()}
        item = dynamodb_items.ticket_item(ticket.request, ticket.assignment)
        return item | kept | {ORIGIN: EXTERNAL, IMPORTED_BY: self.caller}

    def _record_of(self, ticket: Ticket) -> dict[str, Any] | None:
        """Return the record of a ticket's key; None if its time is over."""
        expiry, now = expiry_of(ticket, self.retention_days), datetime.now(UTC)
        if expiry and expiry <= now:
            return None
        own = of_ticket(ticket)
        fingerprint, date = str(own.fingerprint), str(own.assigned_at)
        assigned = Assignment(ticket.number, fingerprint, date, ticket.chain or None)
        due = int(expiry.timestamp()) if expiry else self._due_from(now)
        return dynamodb_items.key_item(ticket.key, assigned, due)

    def _due_from(self, time: datetime) -> int | None:
        """Return when a record of this time expires, in epoch seconds."""
        due = time + timedelta(days=self.retention_days)
        return int(due.timestamp()) if self.retention_days else None


def comparison(ticket: Existing, there: Item) -> str:
    """Return `ALREADY`, or how the ticket of that number differs."""
    if isinstance(there, Reserved):
        return "a lost ticket has this number; an import would destroy its hash"
    is_own = there.idempotency_key == ticket.idempotency_key
    is_erased = is_own and ERASED in (ticket.status, there.status)
    wanted = dynamodb_items.ticket_item(ticket.request, ticket.assignment)
    if is_erased or _asked_for(there.fields) == _asked_for(wanted):
        return ALREADY
    if is_own:
        return "the ticket of this number and idempotency_key says something else"
    return "another ticket has this number"


def may_replace(ticket: Existing, place: Item) -> bool:
    """Return whether a ticket can take an item's place: a lost one's hash stays."""
    has_its_place = bool(place.fields.get(CHAIN, ticket.chain) == ticket.chain)
    return isinstance(place, Reserved) and has_its_place


def _asked_for(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in _ADDED}


def _no_place(known: Known) -> str:
    """Return why a missing ticket is not external; a plan had taken it for one."""
    if known.is_seeded:
        announced = "was announced and " if known.ticket.chain else ""
        return f"it {announced}is not back: run this again before the worker starts"
    see = f"see: {program} audit"
    return f"it is missing among numbers that were given here; {see}"


def _going_back(known: Known, around: Around, record: KeyRecord) -> Write | str:
    """Judge a missing ticket of an export: it goes back as it was, or not at all."""
    exported = known.ticket
    different = differences(exported, record)
    # The ticket was erased since: its hash tells that the record is its own.
    is_older = different == [FINGERPRINT] and bool(exported.chain)
    if different and not (is_older and exported.is_erased):
        named = ", ".join(different)
        return f"it differs from the record of its idempotency_key in {named}"
    previous = known.hash_before(around)
    if problem := problem_of(exported, previous, is_vouched=known.is_inside):
        return f"it cannot go back: {problem}"
    return Write(exported.fields, record.erased() if is_older else None)
