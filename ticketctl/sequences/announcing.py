"""Publishes events of tickets: in order, at a rate, with retries."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any, Final

from ticket_numbering.contract.dynamodb_items import ASSIGNED_AT
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.events import TicketEvent, TicketNumberAssigned
from ticket_numbering.contract.mark_events import TicketMarked
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticket_numbering.contract.values import PRIORITIES
from ticketctl.aws.retry import RateLimiter, RetryPolicy
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.topic import limits, publish
from ticketctl.ledger.item import Ticket

Events = Callable[[], Sequence[Envelope]]
"""Returns the events of some tickets, by their state at the time of the call."""

_BURST_SECONDS: Final = 0.2
"""The share of a second that concurrent calls may publish at once."""

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
        """The maximum of events at a time: those of a call, or at a high rate of more.

        So a rate of hundreds is used also if each call takes long.
        """
        in_call, calls = limits(self.stack)
        burst = self.limiter.batch_size(in_call * calls, _BURST_SECONDS)
        return max(burst, self.limiter.batch_size(in_call))

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
            failed = self._publish(batch)
            for ticket in batch:
                out[ticket.event.id] = None if ticket in failed else ticket
            is_whole = len(batch) == len(left)
            return not failed

        while not is_whole:
            self.retry.sleep(self.limiter.delay(0))
            before = len(out)
            self.retry.until(attempt, "SNS did not take some events")
            yield from filter(None, islice(out.values(), before, None))

    def _publish(self, batch: Sequence[Envelope]) -> list[Envelope]:
        """Publish a batch in concurrent calls; return the events to retry, in order."""
        in_call, calls = limits(self.stack)
        parts = [batch[at : at + in_call] for at in range(0, len(batch), in_call)]
        call = partial(publish, self.stack)
        if len(parts) <= 1:  # Ctrl-C ends a call only in the main thread.
            return [*chain.from_iterable(map(call, parts))]
        with ThreadPoolExecutor(calls) as pool:
            return [*chain.from_iterable(pool.map(call, parts))]


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
