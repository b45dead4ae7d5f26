"""Decides the step of a number, by the items and records around it, without I/O.

A hash is restored only if one of these vouches for it: the record of its key, the next
ticket, which covers it, or a reserved item that has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ticket_numbering.contract import dynamodb_items
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CHAIN,
    EXPIRES_AT,
    FINGERPRINT,
    ORIGIN,
)
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.messages import Assignment
from ticketctl.ledger.agreement import (
    differences,
    expiry_of,
    of_ticket,
    ticket_problems,
)
from ticketctl.ledger.findings import Finding, FindingKind
from ticketctl.ledger.item import Item, ItemKind, Reserved, Ticket
from ticketctl.ledger.record import KeyRecord, MalformedRecord, Record
from ticketctl.ledger.sequence import is_given_here
from ticketctl.ledger.standing import covers, problem_of
from ticketctl.restore.comparison import difference, gives_way
from ticketctl.restore.database import Slot
from ticketctl.restore.steps import NOTHING, Act, Form, Step, Terms, is_mark, refused

_UNLIKE: Final = "it differs from the record of its idempotency_key in "


@dataclass(frozen=True)
class Candidate:
    """A number, with the known items and records around it."""

    slot: Slot
    above: Item | None
    """The final item at the next number."""
    below: Slot | None
    """The slot of the number before, if it has an item."""
    record: Record | None
    """The tables' record of the key of the file's ticket."""
    naming: Sequence[KeyRecord]
    """The tables' records of the number."""
    own_records: Sequence[KeyRecord]
    """The file's records of the number that no ticket of the file explains."""
    lost_records: Sequence[KeyRecord]
    """The own records whose keys have no record in the tables."""
    rival: int
    """The number of another ticket that gets the key's record; 0 if none."""
    is_whole: bool
    """Whether the tables have nothing else, so that the file vouches for itself."""

    @property
    def hash_before(self) -> str | None:
        """The hash of the number before it; None if that number has no item."""
        if self.slot.number == 1:
            return ""
        if self.below is None:
            return None
        own, there = self.below.own, self.below.there
        # A ticket stays, with or without a hash; a reserved number may be replaced.
        if there and (own is None or not gives_way(own, there)):
            return there.chain
        return own.chain if own else None


@dataclass(frozen=True)
class Decider:
    """Decides the steps of a restore."""

    terms: Terms

    @property
    def _see(self) -> str:
        return f"see: {self.terms.program} audit"

    def step(self, known: Candidate) -> Step:
        """Return the step at a number of the file."""
        slot = known.slot
        own, there = slot.own, slot.there
        if own is None:
            return self._lost_record(known, there.chain if there else "", NOTHING)
        if isinstance(known.record, MalformedRecord):
            why = f"its idempotency_key is taken: {known.record}"
            return refused(f"{why}; {self._see}")
        if there and (slot.is_same or not gives_way(own, there)):
            problem = "" if slot.is_same else difference(own, there)
            return refused(problem) if problem else self._recording(known, there)
        if isinstance(own, Reserved):
            return self._reserved(known, own)
        step = self._erased(known, own) if isinstance(own, Ticket) else NOTHING
        is_external = step.form is Form.EXTERNAL or bool(step.why)
        if isinstance(there, Ticket) and is_external:
            return self._recording(
                known, there
            )  # It is external in the tables already.
        return step

    def _recording(self, known: Candidate, there: Item) -> Step:
        """Decide about the record of a kept item."""
        if not isinstance(there, Ticket):
            return self._lost_record(known, there.chain, NOTHING)
        if isinstance(known.record, KeyRecord):
            return self._record_there(known, there, known.record)
        return self._record_made(known, there)

    def _record_there(self, known: Candidate, there: Ticket, record: KeyRecord) -> Step:
        if record.number != there.number:
            is_over = self.record_of(there) is None or known.is_whole
            return NOTHING if is_over else _taken(there, record.number)
        own = known.slot.own
        if differences(there, record) == [FINGERPRINT]:
            if there.is_erased:  # The record may be older than the erasure.
                return Step(act=Act.PUT, record=record.erased())
            if record.is_erased and isinstance(own, Ticket) and own.is_erased:
                return NOTHING  # The ticket is older: a command erases it again.
        if any(kept.fields == record.fields for kept in known.own_records):
            return NOTHING
        return next(map(_unlike, ticket_problems(there, record, there)), NOTHING)

    def _record_made(self, known: Candidate, there: Ticket) -> Step:
        made = self.record_of(there)
        if made is None:
            return NOTHING
        if rival := self._rival(known, there):
            return rival
        if problem := problem_of(there, known.hash_before):
            why = f"its idempotency_key has no record, and gets none: {problem}"
            return refused(why)
        return Step(act=Act.PUT, record=made)

    def _reserved(self, known: Candidate, own: Reserved) -> Step:
        """Decide about a reserved number; one with a hash is a lost ticket's."""
        is_recorded = any(
            record.fields.get(CHAIN) == own.chain for record in known.naming
        )
        is_witnessed = covers(known.above, own.chain)
        if own.chain and not (is_recorded or is_witnessed or known.is_whole):
            if (there := known.slot.there) and not is_mark(there):
                return self._recording(known, there)  # The tables have no hash either.
            return Step(Form.EXTERNAL)
        is_ground = bool(own.chain) and not (is_recorded or known.is_whole)
        step = Step(Form.WHOLE, is_witnessed=is_ground)
        return self._lost_record(known, own.chain, step)

    def _lost_record(self, known: Candidate, chain: str, step: Step) -> Step:
        """Return a step with the file's record of a lost ticket, if it is restored."""
        for record in known.lost_records:
            is_own = bool(chain) and record.fields.get(CHAIN) == chain
            if is_own and not is_over(record):
                return replace(step, act=Act.PUT, record=record.fields)
        return step

    def _erased(self, known: Candidate, own: Ticket) -> Step:
        """Decide about a ticket that may have been erased since its export."""
        record, there = known.record, known.slot.there
        is_erased = isinstance(there, Ticket) and there.is_erased
        if isinstance(record, KeyRecord) and record.number == own.number:
            is_erased |= record.is_erased
        is_erased |= any(
            kept.is_erased for kept in known.own_records if kept.key == own.key
        )
        if own.is_erased or not is_erased:
            return self._ticket(known, own)
        return replace(self._ticket(known, self.terms.erased(own)), is_erased=True)

    def _ticket(self, known: Candidate, own: Ticket) -> Step:
        """Decide about a missing ticket, or one that replaces an item."""
        for record in known.naming:
            if record.key != own.key:
                key = record.idempotency_key
                named = f"the record of the key {key} names this number"
                return refused(f"{named}; {self._see}")
        if not isinstance(known.record, KeyRecord):
            return self._rival(known, own) or self._unrecorded(known, own)
        if known.record.number == own.number:
            return self._recorded(known, own, known.record)
        if not (known.is_whole or self.record_of(own) is None):
            return _taken(own, known.record.number)
        return self._formed(known, own, is_recorded=False)

    def _unrecorded(self, known: Candidate, own: Ticket) -> Step:
        """Decide about a missing ticket whose key has no record."""
        step = self._formed(known, own, is_recorded=False)
        if step.why or known.rival > own.number:
            return step
        for kept in known.lost_records:
            if kept.key == own.key:
                is_external = step.form is Form.EXTERNAL
                fields = _without_chain(kept) if is_external else kept.fields
                return replace(step, act=Act.PUT, record=fields)
        if made := self.record_of(self.terms.formed(step, own, None)):
            return replace(step, act=Act.PUT, record=made, is_made=True)
        return step

    def _recorded(self, known: Candidate, own: Ticket, record: KeyRecord) -> Step:
        """Decide about a ticket whose key is recorded for its number."""
        if record.is_later:
            return refused(
                "the record of its idempotency_key is of a later release: use the "
                "newest ticketctl"
            )
        different = differences(own, record)
        is_degraded = different == [CHAIN] and CHAIN not in record.fields
        if is_degraded and isinstance(known.slot.there, Ticket):
            return self._better(known, own, record)
        # The ticket was erased since its export, and so must be its record.
        is_older = different == [FINGERPRINT] and own.is_erased
        if different and not is_older:
            named = ", ".join(different)
            return refused(f"{_UNLIKE}{named}")
        step = self._formed(known, own, is_recorded=True)
        if step.form is Form.EXTERNAL:
            return replace(step, act=Act.PUT, record=_without_chain(record))
        if step.why or is_older:
            return replace(step, act=Act.PUT, record=record.erased())
        return replace(step, act=Act.CHECK)

    def _better(self, known: Candidate, own: Ticket, record: KeyRecord) -> Step:
        """Decide about a ticket that an earlier restore wrote without its hash."""
        step, made = self._formed(known, own, is_recorded=False), self.record_of(own)
        if step.form is not Form.WHOLE or made is None:
            return step
        if (expires := record.fields.get(EXPIRES_AT)) is not None:
            made[EXPIRES_AT] = expires
        return replace(step, act=Act.PUT, record=made)

    def _formed(self, known: Candidate, own: Ticket, *, is_recorded: bool) -> Step:
        """Return a step with a ticket's form, and whether the next one vouches."""
        if known.is_whole or not is_given_here(own.kind):
            return Step(Form.WHOLE)
        if not own.chain:
            return Step(Form.WHOLE if is_recorded else Form.EXTERNAL)
        previous = known.hash_before
        if problem := problem_of(own, previous, is_vouched=is_recorded):
            return refused(f"it cannot go back: {problem}")
        there = known.slot.there
        is_kept = there is not None and there.kind is ItemKind.LOST
        is_witnessed = covers(known.above, own.chain)
        if covers(known.above, "") and not is_witnessed:
            return Step(Form.EXTERNAL)  # The next ticket would be a second start.
        if is_recorded or is_kept or is_witnessed:
            return Step(Form.WHOLE, is_witnessed=not (is_recorded or is_kept))
        return Step(Form.EXTERNAL)

    def _rival(self, known: Candidate, ticket: Ticket) -> Step | None:
        """Return the refusal of an unrecorded key that another number has, too."""
        rival, is_unbound = known.rival, self.record_of(ticket) is None
        if not rival or known.is_whole or is_unbound:
            return None
        if rival > ticket.number:
            return _taken(ticket, rival)
        key = ticket_key(ticket.project_id, rival)
        return refused(f"{key} has the same idempotency_key; {self._see}")

    def record_of(self, ticket: Item) -> dict[str, Any] | None:
        """Return the record of a ticket's key, made from the ticket.

        None if it would have expired, or the ticket has no date.
        """
        date, days = ticket.fields.get(ASSIGNED_AT), self.terms.retention_days
        if not (isinstance(date, str) and isinstance(ticket, Ticket)):
            return None
        now = datetime.now(UTC)
        # The retention of an imported ticket's key begins when its record is made.
        is_own = ORIGIN not in ticket.fields
        expiry = expiry_of(ticket, days) if is_own else None
        if expiry and expiry <= now:
            return None
        if days and not expiry:
            expiry = now + timedelta(days=days)
        own = of_ticket(ticket)
        assigned = Assignment(
            ticket.number, own.fingerprint, date, ticket.chain or None
        )
        due = int(expiry.timestamp()) if expiry else None
        return dynamodb_items.key_item(ticket.key, assigned, due)


def is_over(record: KeyRecord) -> bool:
    """Return whether a record of the file has expired, so that it is not restored."""
    expires = record.fields.get(EXPIRES_AT)
    return isinstance(expires, int) and expires <= datetime.now(UTC).timestamp()


def _unlike(finding: Finding) -> Step:
    """Return the step of a ticket that differs from its record.

    Nothing is done if a later release wrote the record, and may know more of the text.
    """
    if finding.kind is not FindingKind.DIFFERING:
        return NOTHING
    return refused(f"{_UNLIKE}{finding.detail}")


def _without_chain(record: KeyRecord) -> dict[str, Any]:
    return {name: value for name, value in record.fields.items() if name != CHAIN}


def _taken(ticket: Ticket, number: int) -> Step:
    key = ticket_key(ticket.project_id, number)
    return refused(f"its idempotency_key is that of {key}")
