"""Publishes events of tickets: in order, at a rate, with retries."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from ticket_numbering.contract.dynamodb_items import ASSIGNED_AT
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.events import TicketEvent, TicketNumberAssigned
from ticket_numbering.contract.mark_events import TicketMarked
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticket_numbering.contract.values import PRIORITIES
from ticketctl.aws.retry import RateLimiter, RetryPolicy
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.topic import events_at_a_time, publish
from ticketctl.ledger.item import Ticket

Events = Callable[[], Sequence[Envelope]]
"""Returns the events of some tickets, by their state at the time of the call."""

_DEFAULT_PRIORITY: Final = CreateTicket.model_fields["priority"].default


@dataclass(frozen=True)
class Announcer:
    """Publishes to the topic of a stack."""

    stack: StackAccess
    limiter: RateLimiter = field(default_factory=RateLimiter)
    """The limiter of events a second."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    @property
    def batch_size(self) -> int:
        """The maximum of events in a call."""
        return self.limiter.batch_size(events_at_a_time(self.stack))

    def publish(self, events: Events) -> Iterator[Envelope]:
        """Publish some events, and yield those that SNS has taken.

        Each attempt builds the events again after its wait, because a text may be
        erased meanwhile.

        Raises:
            BusyError: SNS kept failing to take one.
            CloudError: SNS rejects one.
        """
        out: dict[str, Envelope | None] = {}  # By id; None is not published yet.
        is_whole = False

        def attempt() -> bool:
            nonlocal is_whole
            left = [envelope for envelope in events() if not out.get(envelope.event.id)]
            batch = left[: self.batch_size]
            self.limiter.delay(len(batch))
            failed = publish(self.stack, batch) if batch else []
            for ticket in batch:
                out[ticket.event.id] = None if ticket in failed else ticket
            is_whole = len(batch) == len(left)
            return not failed

        while not is_whole:
            self.retry.sleep(self.limiter.delay(0))
            before = len(out)
            self.retry.until(attempt, "SNS did not take some events")
            yield from filter(None, islice(out.values(), before, None))


def envelope_of(
    stack: StackAccess,
    kind: type[TicketEvent],
    ticket: Ticket,
    *,
    replayed: bool,
    padding: int = 0,
) -> Envelope:
    """Return an event about a ticket, equal to its first announcement.

    Raises:
        ValueError: The ticket is malformed, or has another status.
    """
    priority = ticket.fields.get("priority", _DEFAULT_PRIORITY)
    if priority not in PRIORITIES:  # Another program has changed it.
        raise ValueError(f"no priority: {priority}")
    source = stack.outputs["EventSource"]
    event: TicketEvent
    if issubclass(kind, TicketMarked):
        event = kind.of(ticket.fields, source=source)
    else:
        names = CreateTicket.model_fields.keys() & ticket.fields.keys()
        fields = {name: ticket.fields[name] for name in names}
        request = CreateTicket.model_validate(fields)
        date: Any = ticket.fields.get(ASSIGNED_AT)  # The event rejects None.
        chain = ticket.chain or None
        assignment = Assignment(ticket.number, request.fingerprint, date, chain)
        event = TicketNumberAssigned.of(
            request, assignment, source=source, padding=padding
        )
    return Envelope.of_ticket(event, ticket.key, priority=priority, replayed=replayed)
