"""Builds the events of numbers again, for subscribers that lost them.

The ids and contents are those of the first time, as far as the tickets still have them.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice, takewhile
from typing import Any, Final, NamedTuple

from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    ERASED,
    NUMBER,
    RESERVED,
    TIMES,
)
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.events import (
    TicketEvent,
    TicketNumberAssigned,
    ticket_key,
)
from ticket_numbering.contract.mark_events import (
    TicketErased,
    TicketVoided,
)
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticketctl.aws.items import Ticket
from ticketctl.aws.stack import System
from ticketctl.aws.table_reader import SETTLING_SECONDS, Place, TableReader
from ticketctl.aws.tickets import tickets_above
from ticketctl.cli.output import console, remark, with_progress
from ticketctl.evidence.chain import Link, chain_problem, link_of
from ticketctl.evidence.findings import Kind
from ticketctl.sequences.announcing import Announcer, Events, envelope_of

_EVENTS: Final = [
    kind.__name__ for kind in (TicketNumberAssigned, TicketVoided, TicketErased)
]

_LEFT_OUT: Final = (
    _RESERVED := "reserved",
    _IMPORTED := "imported",
    _NOT_HERE := "not here",
)

_DOUBTS: Final = {
    Kind.CHANGED: "is not as it was announced",
    Kind.NOT_VERIFIABLE: "has what this ticketctl does not know",
}
"""Why a ticket is not announced again under the id that its event had."""


class Due(NamedTuple):
    """A ticket that has events, the item before it, and the events."""

    place: Place
    before: Link
    events: Sequence[Envelope]


@dataclass
class Repeat:
    """The events of a range of a project's numbers, in their order."""

    stack: System
    project_id: str
    first: int
    last: int
    padding: int = 0
    """As the worker pads numbers for display."""
    imported: bool = False
    """Whether imported tickets count, which nobody has announced."""
    sleep: Callable[[float], None] = time.sleep
    counts: Counter[str] = field(default_factory=Counter)
    """Of the events by their types, and of the numbers that are left out."""
    problems: set[str] = field(default_factory=set)
    """A line for each number that should have had an event and has none."""
    before: Link = field(default_factory=Link)
    """The last item that was read: the next ticket's hash covers its hash."""

    def tickets(self) -> Iterator[Ticket]:
        """Yield the items of the range."""
        due = self.first
        for found in self._above(due - 2):
            if found.number < self.first:
                self.before = link_of(found)
                continue
            end = min(found.number, self.last + 1)
            if found.explains_a_gap:
                self.counts[_NOT_HERE] += end - due
            elif due < end:
                yield from self._read_again(due, end - 1)
            if found.number > self.last:
                return
            yield found
            due = found.number + 1
        if due <= self.last:
            yield from self._read_again(due, self.last)

    def due(self, tickets: Iterable[Ticket]) -> Iterator[Due]:
        """Yield the tickets that have events, and count the numbers that have none."""
        for found in tickets:
            before, self.before = self.before, link_of(found)
            if left_out := self._left_out(found):
                self.counts[left_out] += 1
            if events := self._envelopes(found, before):
                yield Due((found.project_id, found.number), before, events)

    def groups(self, tickets: Iterable[Ticket], size: int) -> Iterator[Events]:
        """Yield the events of some tickets at a time, which are then read again."""
        due = self.due(tickets)
        while batch := {one.place: one.before for one in islice(due, size)}:
            yield partial(self._as_they_stand, batch)

    def _as_they_stand(self, batch: Mapping[Place, Link]) -> list[Envelope]:
        """Read tickets again, in one call; return their events."""
        table = self.stack.outputs["TicketsTableName"]
        found = TableReader(self.stack.client("dynamodb")).tickets(table, batch)
        envelopes: list[Envelope] = []
        for place, before in batch.items():
            if now := found.get(place):
                envelopes += self._envelopes(now, before)
            else:
                self._remark(f"missing: {ticket_key(*place)}")
        return envelopes

    def _envelopes(self, found: Ticket, before: Link) -> list[Envelope]:
        """Return the events of a ticket; none, with a remark, if it is in doubt."""
        key, events = found.ticket_key, self._events(found)
        if problem := _doubt(found, before):
            self._remark(f"{key} {problem}")
            return []
        try:
            return [envelope_of(event, found, replayed=True) for event in events]
        except ValueError:  # That of pydantic is one.
            self._remark(f"{key} is malformed", f"show {key}")
            return []

    def _left_out(self, found: Ticket) -> str | None:
        """Return why a number has no event of its own, though nothing is wrong."""
        if found.status == RESERVED:
            return _RESERVED
        return _IMPORTED if found.is_external and not self.imported else None

    def _events(self, found: Ticket) -> Iterator[TicketEvent]:
        """Yield what was announced about a ticket, in the order of the facts.

        The content of a number's own event is lost with an erased text.
        """
        left_out = self._left_out(found)
        if left_out == _RESERVED:
            return
        source = self.stack.outputs["EventSource"]
        if not left_out and found.status != ERASED:
            yield _assigned_again(found, source, self.padding)
        for mark in (TicketVoided, TicketErased):
            if TIMES[mark.status] in found.fields:
                yield mark.of(found.fields, source=source)

    def _read_again(self, first: int, last: int) -> Iterator[Ticket]:
        """Read missing numbers again: a query may see the middle of a transaction."""
        self.sleep(SETTLING_SECONDS)
        count = 0
        for found in takewhile(lambda one: one.number <= last, self._above(first - 1)):
            yield found
            count += 1
        if missing := last - first + 1 - count:
            ends = f"{self.project_id}-{first} to {self.project_id}-{last}"
            self._remark(f"missing: {missing} of {ends}")

    def _remark(self, problem: str, see: str = "audit") -> None:
        if problem not in self.problems:  # Else it is read again.
            self.problems.add(problem)
            remark(f"{problem}; see: ticketctl {see}")

    def _above(self, number: int) -> Iterator[Ticket]:
        """Yield the items above a number, without what no worker can have numbered."""
        for found in tickets_above(self.stack, self.project_id, number):
            if found.has_number:
                yield found
            elif self.first <= found.number <= self.last:
                number = found.fields[NUMBER]
                self._remark(f"{self.project_id} has an item with the number {number}")


def _doubt(found: Ticket, before: Link) -> str | None:
    """Return why a ticket's event may be another; that needs the one before it."""
    if not found.chain or found.status == RESERVED or before.number + 1 != found.number:
        return None
    problem = chain_problem(found, before)
    return _DOUBTS.get(problem) if problem else None


def _assigned_again(ticket: Ticket, source: str, padding: int) -> TicketNumberAssigned:
    """Build the event of a ticket's number, as the worker made it.

    Raises:
        ValueError: The ticket is malformed.
    """
    names = CreateTicket.model_fields.keys() & ticket.fields.keys()
    request = CreateTicket.model_validate({name: ticket.fields[name] for name in names})
    date: Any = ticket.fields.get(ASSIGNED_AT)  # The event refuses None.
    assignment = Assignment(
        ticket.number, request.fingerprint, date, ticket.chain or None
    )
    return TicketNumberAssigned.of(request, assignment, source=source, padding=padding)


def publish_again(repeat: Repeat, announcer: Announcer | None) -> None:
    """Publish the events, or count them without an announcer, and print the counts."""
    total = repeat.last - repeat.first + 1
    until = "nothing; run it again"
    with with_progress(repeat.tickets(), "announcing", total) as tickets:
        if announcer:
            events = announcer.publish(repeat.groups(tickets, announcer.batch_size))
        else:
            events = chain.from_iterable(one.events for one in repeat.due(tickets))
        try:
            for envelope in events:
                until = f"up to {envelope.event.id}; go on with that number as --from"
                repeat.counts[type(envelope.event).__name__] += 1
        except BaseException:  # Ctrl-C as well.
            if announcer:
                remark(f"announced: {until}")
            raise
    verb = "announced" if announcer else "to announce"
    events_out = _listed(repeat.counts, _EVENTS)
    left_out = _listed(repeat.counts, _LEFT_OUT)
    console().print(f"{verb}: {events_out}; no event: {left_out}")


def _listed(counts: Counter[str], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {counts[name]}" for name in names)
