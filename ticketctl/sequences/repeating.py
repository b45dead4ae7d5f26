"""Builds the events of numbers again, for subscribers that lost them.

The ids and contents are those of the first time, as far as the tickets still have them.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final

from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    ERASED,
    RESERVED,
    TIMES,
)
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.events import TicketEvent, TicketNumberAssigned
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticketctl.audit.chain import Link, chain_problem, link_of
from ticketctl.audit.findings import Kind
from ticketctl.aws.items import Ticket
from ticketctl.aws.stack import System
from ticketctl.aws.table_reader import SETTLING_SECONDS
from ticketctl.aws.tickets import tickets_above
from ticketctl.cli.output import console, remark, with_progress
from ticketctl.sequences.announcing import Announcer, envelope_of
from ticketctl.sequences.ticket_events import TicketErased, TicketVoided

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
    has_problems: bool = False
    """Whether a number that should have had an event has none."""
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

    def envelopes(self, tickets: Iterable[Ticket]) -> Iterator[Envelope]:
        """Yield the events of tickets, and count what has none."""
        for found in tickets:
            before, self.before = self.before, link_of(found)
            if problem := _doubt(found, before):
                self._remark(f"{found.ticket_key} {problem}; see: ticketctl audit")
                continue
            try:
                envelopes = [
                    envelope_of(event, found, replayed=True)
                    for event in self._events(found)
                ]
            except ValueError:  # That of pydantic is one.
                key = found.ticket_key
                self._remark(f"{key} is malformed; see: ticketctl show {key}")
                continue
            self.counts.update(type(one.event).__name__ for one in envelopes)
            yield from envelopes

    def _events(self, found: Ticket) -> Iterator[TicketEvent]:
        """Yield what was announced about a ticket, in the order of the facts.

        The content of a number's own event is lost with an erased text.
        """
        if found.status == RESERVED:
            self.counts[_RESERVED] += 1
            return
        source = self.stack.outputs["EventSource"]
        if found.is_external and not self.imported:
            self.counts[_IMPORTED] += 1
        elif found.status != ERASED:
            yield self._assigned(found, source)
        for mark in (TicketVoided, TicketErased):
            if TIMES[mark.status] in found.fields:
                yield mark.of(found, source)

    def _assigned(self, found: Ticket, source: str) -> TicketNumberAssigned:
        names = CreateTicket.model_fields.keys() & found.fields.keys()
        request = CreateTicket.model_validate(
            {name: found.fields[name] for name in names}
        )
        date: Any = found.fields.get(ASSIGNED_AT)  # The event refuses None.
        assignment = Assignment(
            found.number, request.fingerprint, date, found.chain or None
        )
        return TicketNumberAssigned.of(
            request, assignment, source=source, padding=self.padding
        )

    def _read_again(self, first: int, last: int) -> Iterator[Ticket]:
        """Read missing numbers again: a query may see the middle of a transaction."""
        self.sleep(SETTLING_SECONDS)
        count = 0
        for found in takewhile(lambda one: one.number <= last, self._above(first - 1)):
            yield found
            count += 1
        if missing := last - first + 1 - count:
            ends = f"{self.project_id}-{first} to {self.project_id}-{last}"
            self._remark(f"missing: {missing} of {ends}; see: ticketctl audit")

    def _remark(self, problem: str) -> None:
        self.has_problems = True
        remark(problem)

    def _above(self, number: int) -> Iterator[Ticket]:
        return tickets_above(self.stack, self.project_id, number)


def _doubt(found: Ticket, before: Link) -> str | None:
    """Return why a ticket's event may be another; that needs the one before it."""
    if not found.chain or found.status == RESERVED or before.number + 1 != found.number:
        return None
    problem = chain_problem(found, before)
    return _DOUBTS.get(problem) if problem else None


def publish_again(repeat: Repeat, announcer: Announcer | None) -> None:
    """Publish the events, or count them without an announcer, and print the counts."""
    total = repeat.last - repeat.first + 1
    tickets = with_progress(repeat.tickets(), "announcing", total)
    events = repeat.envelopes(tickets)
    done: Envelope | None = None
    try:
        for envelope in announcer.publish(events) if announcer else events:
            done = envelope
    except BaseException:  # Ctrl-C as well.
        if announcer:
            until = f"up to {done.event.id}" if done else "nothing"
            remark(f"announced: {until}; go on with that number as --from")
        raise
    verb = "announced" if announcer else "to announce"
    events_out = _listed(repeat.counts, _EVENTS)
    left_out = _listed(repeat.counts, _LEFT_OUT)
    console().print(f"{verb}: {events_out}; no event: {left_out}")


def _listed(counts: Counter[str], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {counts[name]}" for name in names)
