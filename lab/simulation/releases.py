"""Releases that work beside the shipped one while a deployment goes on."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from simulation.aws.clients import with_puts
from simulation.aws.lambda_service import Handler
from simulation.aws.network import Request
from simulation.execution_environment import Algorithm, ExecutionEnvironment
from simulation.monitor import FOREIGN
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.head import Head
from ticket_numbering.allocation.progress import Allocation
from ticket_numbering.allocation.store import TimeLeft
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.errors import AnnouncementError
from ticket_numbering.contract.events import TicketNumberAssigned
from ticket_numbering.contract.messages import CreateTicket

NEXT_RETENTION_DAYS: Final = 365


def _next_version(environment: ExecutionEnvironment) -> Handler:
    """Build a worker that writes attributes which this version does not know."""

    def change(put: Request) -> Request:
        return {**put, "Item": {**put["Item"], FOREIGN: {"S": "yes"}}}

    store = partial(DynamoDBTicketStore, retention_days=NEXT_RETENTION_DAYS)
    changed = replace(environment, dynamodb=with_puts(environment.dynamodb, change))
    return changed.handler(store=store)


class Unchained(Allocation):
    """Dates tickets by its own clock, and chains none."""

    def block(self, head: Head, now: datetime, salt: Callable[[], str]) -> Block:
        """Return the next block as a release before the chain wrote it."""
        block = Allocation.block(self, replace(head, assigned_at=None), now, salt)
        tickets = [
            ticket._replace(assignment=replace(ticket.assignment, chain=None))
            for ticket in block.tickets
        ]
        return replace(block, tickets=tickets)


class AllocatesUnchained(Allocator):
    """Allocates without a chain."""

    def start(self, project_id: str, requests: Sequence[CreateTicket]) -> Allocation:
        """Return the allocation."""
        cached = self.cache.head(project_id, self.now())
        return Unchained(project_id, list(requests), cached)


class AnnouncesNoChain(SNSPublisher):
    """Announces the chain of no ticket, not even of those that have one."""

    def publish(
        self, announcements: Sequence[Envelope], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Publish the events without their chains."""
        changed = [
            replace(envelope, event=_without_chain(envelope.event))
            if isinstance(envelope.event, TicketNumberAssigned)
            else envelope
            for envelope in announcements
        ]
        return super().publish(changed, time_left)


def _without_chain(event: TicketNumberAssigned) -> TicketNumberAssigned:
    data = event.data.model_copy(update={"chain": None})
    return event.model_copy(update={"data": data})


NEXT_VERSION: Final = Algorithm(
    "a later release: other items, other settings", _next_version
)
EARLIER_VERSION: Final = Algorithm(
    "an earlier release: no chain, its own clock",
    partial(
        ExecutionEnvironment.handler,
        allocator=AllocatesUnchained,
        publisher=AnnouncesNoChain,
    ),
)
