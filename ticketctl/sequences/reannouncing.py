"""Builds the events of numbers again, for subscribers that lost them.

Ids and contents equal those of the first announcement, as far as the tickets still have
them.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, takewhile
from typing import Final

from ticket_numbering.contract.dynamodb_items import NUMBER, TIMES
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.events import (
    TicketEvent,
    TicketNumberAssigned,
    ticket_key,
)
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.mark_events import TicketErased, TicketVoided
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.table_reader import SETTLING_SECONDS, TableReader
from ticketctl.aws.tickets import tickets_above
from ticketctl.cli.output import console, note_if_interrupted, print_note, with_progress
from ticketctl.ledger.chain import chain_problem
from ticketctl.ledger.findings import FindingKind
from ticketctl.ledger.item import Item, Malformed, Reserved, Ticket
from ticketctl.ledger.sequence import explains_below, is_given_here
from ticketctl.sequences.announcing import Announcer, envelope_of

_EVENTS: Final = [
    kind.__name__ for kind in (TicketNumberAssigned, TicketVoided, TicketErased)
]

_LEFT_OUT: Final = (
    _RESERVED := "reserved",
    _IMPORTED := "imported",
    _NOT_HERE := "not here",
)

Due = tuple[Item, Head]
"""An item, and the head before it, which its hash covers."""


@dataclass
class Reannouncement:
    """The events of a range of a project's numbers, in their order."""

    stack: StackAccess
    project_id: str
    first: int
    last: int
    padding: int = 0
    """The worker's padding of numbers for display."""
    imported: bool = False
    """Whether to announce imported tickets, which never were."""
    sleep: Callable[[float], None] = field(default_factory=lambda: time.sleep)
    counts: Counter[str] = field(default_factory=Counter)
    """The counts of events by type, and of numbers without an event."""
    problems: set[str] = field(default_factory=set)
    """A line for each number whose event is missing."""

    def publish(self, announcer: Announcer | None) -> None:
        """Publish the events, or count them without an announcer; print the counts."""
        size, until = announcer.batch_size if announcer else 1, "nothing; run it again"
        total = self.last - self.first + 1
        so_far = note_if_interrupted(lambda: f"announced: {until}" if announcer else "")
        with with_progress(self.tickets(), "announcing", total) as tickets, so_far:
            due = (pair for pair in tickets if self._is_due(pair[0]))
            while batch := [*islice(due, size)]:
                again = partial(self._as_they_stand, batch)
                out = announcer.publish(again) if announcer else self._events(batch)
                for envelope in out:
                    event_id, kind = envelope.event.id, type(envelope.event)
                    until = f"up to {event_id}; go on with that number as --from"
                    self.counts[kind.__name__] += 1
        verb = "announced" if announcer else "to announce"
        events, left_out = self._listed(_EVENTS), self._listed(_LEFT_OUT)
        console().print(f"{verb}: {events}; no event: {left_out}")

    def tickets(self) -> Iterator[Due]:
        """Yield the items of the range, each with the head before it."""
        before = Head()
        for item in self._items():
            if item.number >= self.first:
                yield item, before
            before = item.head

    def _items(self) -> Iterator[Item]:
        """Yield the items of the range, and the one before it."""
        due = self.first
        for item in self._above(due - 2):
            end = min(item.number, self.last + 1)
            if explains_below(item.kind):
                self.counts[_NOT_HERE] += max(0, end - due)
            elif due < end:
                yield from self._read_again(due, end - 1)
            if item.number > self.last:
                return
            yield item
            due = max(due, item.number + 1)
        if due <= self.last:
            yield from self._read_again(due, self.last)

    def _is_due(self, item: Item) -> bool:
        """Tell whether a number has events; count it if it lacks one of its own."""
        if isinstance(item, Reserved):
            self.counts[_RESERVED] += 1
        elif self._is_other(item):
            self.counts[_IMPORTED] += 1
        return isinstance(item, Malformed) or bool(self._kinds(item))

    def _as_they_stand(self, batch: Sequence[Due]) -> list[Envelope]:
        """Read tickets again, in one call; return their events."""
        heads_before = {
            (ticket.project_id, ticket.number): before for ticket, before in batch
        }
        tickets = TableReader.of(self.stack).tickets(heads_before)
        for ticket_id in heads_before:
            if ticket_id not in tickets:
                self._report(f"missing: {ticket_key(*ticket_id)}")
        there = [ticket_id for ticket_id in heads_before if ticket_id in tickets]
        return self._events(
            [(tickets[ticket_id], heads_before[ticket_id]) for ticket_id in there]
        )

    def _events(self, batch: Sequence[Due]) -> list[Envelope]:
        """Return the events of tickets; print a note for each doubtful ticket."""
        events: list[Envelope] = []
        for item, before in batch:
            key = item.ticket_key
            if isinstance(item, Reserved):
                continue
            if isinstance(item, Malformed):
                self._report(f"{key} is malformed", f"show {key}")
                continue
            if problem := _doubt(item, before):
                self._report(f"{key} {problem}")
                continue
            built = partial(
                envelope_of, self.stack, replayed=True, padding=self.padding
            )
            try:
                events += [built(kind, item) for kind in self._kinds(item)]
            except ValueError:  # Also pydantic's.
                self._report(f"{key} is malformed", f"show {key}")
        return events

    def _kinds(self, item: Item) -> list[type[TicketEvent]]:
        """Return the types of a ticket's events, in their order.

        An erased ticket lacks the content of its number's event.
        """
        if not isinstance(item, Ticket):
            return []
        is_gone = self._is_other(item) or item.is_erased
        own = [] if is_gone else [TicketNumberAssigned]
        marks = TicketVoided, TicketErased
        return [*own, *(mark for mark in marks if TIMES[mark.status] in item.fields)]

    def _is_other(self, item: Item) -> bool:
        """Return whether the number is external, and so was never announced."""
        return not (is_given_here(item.kind) or self.imported)

    def _read_again(self, first: int, last: int) -> Iterator[Item]:
        """Read missing numbers again: a query may see half of a transaction."""
        self.sleep(SETTLING_SECONDS)
        count = 0
        for item in takewhile(
            lambda ticket: ticket.number <= last, self._above(first - 1)
        ):
            yield item
            count += 1
        if missing := last - first + 1 - count:
            ends = f"{self.project_id}-{first} to {self.project_id}-{last}"
            self._report(f"missing: {missing} of {ends}")

    def _listed(self, names: Iterable[str]) -> str:
        return ", ".join(f"{name} {self.counts[name]}" for name in names)

    def _report(self, problem: str, see: str = "audit") -> None:
        if problem not in self.problems:  # Else it is read again.
            self.problems.add(problem)
            print_note(f"{problem}; see: {self.stack.program} {see}")

    def _above(self, number: int) -> Iterator[Item]:
        """Yield the items above a number, without invalid numbers."""
        for item in tickets_above(self.stack, self.project_id, number):
            if item.has_number:
                yield item
            elif self.first <= item.number <= self.last:
                number = item.fields[NUMBER]
                self._report(f"{self.project_id} has an item with the number {number}")


def _doubt(ticket: Ticket, before: Head) -> str | None:
    """Return the reason why a ticket's event may have changed, if there is one."""
    if not ticket.chain or before.next_number != ticket.number:
        return None
    match chain_problem(ticket, before.chain):
        case FindingKind.CHANGED:
            return "is not as it was announced"
        case FindingKind.NOT_VERIFIABLE:
            return "has attributes that this ticketctl does not know"
        case None | FindingKind.RESTARTED:
            return None
