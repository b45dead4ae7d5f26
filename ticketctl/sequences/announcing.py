"""Publishes events of tickets: in order, at a rate, each until SNS has taken it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.events import TicketEvent
from ticket_numbering.contract.field_types import PRIORITIES
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.aws.items import Ticket
from ticketctl.aws.rate_limiter import RateLimiter
from ticketctl.aws.stack import System
from ticketctl.aws.topic import events_at_a_time, publish
from ticketctl.sequences.retry import RetryPolicy

_DEFAULT_PRIORITY: Final = CreateTicket.model_fields["priority"].default


@dataclass(frozen=True)
class Announcer:
    """Publishes to the topic of a stack."""

    stack: System
    limiter: RateLimiter = field(default_factory=RateLimiter)
    """Of events a second."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def publish(self, envelopes: Iterable[Envelope]) -> Iterator[Envelope]:
        """Publish events, and yield those that are out.

        Raises:
            BusyError: SNS kept failing to take one.
            CloudError: SNS refuses one.
        """
        rest = iter(envelopes)
        most = self.limiter.batch_size(events_at_a_time(self.stack))
        while batch := [*islice(rest, most)]:
            self.retry.sleep(self.limiter.delay(len(batch)))
            self._publish(batch)
            yield from batch

    def _publish(self, batch: Sequence[Envelope]) -> None:
        left = batch

        def attempt() -> bool:
            nonlocal left
            left = publish(self.stack, left)
            return not left

        self.retry.until(attempt, f"SNS did not take {batch[0].event.id} and the next")


def envelope_of(event: TicketEvent, ticket: Ticket, *, replayed: bool) -> Envelope:
    """Return the envelope of an event about a ticket, as the worker makes it.

    Raises:
        ValueError: Another program has changed the priority to none.
    """
    priority = ticket.fields.get("priority", _DEFAULT_PRIORITY)
    if priority not in PRIORITIES:
        raise ValueError(f"no priority: {priority}")
    key = RequestKey(ticket.project_id, str(ticket.idempotency_key))
    return Envelope.of_ticket(event, key, priority=priority, replayed=replayed)
