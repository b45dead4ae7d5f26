"""Known-bad chains: the numbers are right, and the evidence is not."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from simulation.aws.clients import with_puts
from simulation.aws.lambda_service import Handler
from simulation.aws.network import Request
from simulation.aws.tables import TICKETS
from simulation.world.execution_environment import ExecutionEnvironment, Slots
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.cancellation import NextStep, next_step
from ticket_numbering.allocation.progress import Progress
from ticket_numbering.allocation.sequence_cache import SequenceCache
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.events import TicketNumberAssigned
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import CreateTicket


class CacheWithoutChain(SequenceCache):
    """Caches number and date."""

    def committed(self, project_id: str, head: Head, now: datetime) -> None:
        """Cache the head without its chain."""
        SequenceCache.committed(self, project_id, replace(head, chain=""), now)


class CacheWithoutDate(SequenceCache):
    """Caches number and chain."""

    def committed(self, project_id: str, head: Head, now: datetime) -> None:
        """Cache the head without its date."""
        SequenceCache.committed(self, project_id, replace(head, assigned_at=None), now)


def own_chain_past_a_run(block: Block, slots: Slots, attempts: int) -> NextStep:
    """Go past the taken run with the chain of the own tried ticket at its end."""
    step = next_step(block, slots, attempts)
    if not step.collided or not step.head or step.splits:
        return step
    tried = block.tickets[step.head.number - block.first_number].assignment
    return replace(step, head=replace(step.head, chain=tried.chain or ""))


def first_of_a_run(block: Block, slots: Slots, attempts: int) -> NextStep:
    """Go past the taken run with the chain of its first ticket."""
    step = next_step(block, slots, attempts)
    first = slots[0].taken_by
    if not first or not step.head or step.splits:
        return step
    return replace(step, head=replace(first, number=step.head.number))


def tried_chain_after_a_replay(block: Block, slots: Slots, attempts: int) -> NextStep:
    """Write the block again with the chain of the one that was tried."""
    step = next_step(block, slots, attempts)
    if step.head != block.head or step.splits:
        return step
    return replace(step, head=replace(block.head, chain=block.last.chain))


class StaleChains(DynamoDBTicketStore):
    """Reads the number, and keeps the chain that it read first."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._chains: dict[str, str] = {}

    def head(self, project_id: str) -> Head:
        """Return the last number with an older ticket's chain."""
        head = super().head(project_id)
        first = self._chains.setdefault(project_id, head.chain)
        return replace(head, chain=first)


class DatesByItsClock(Progress):
    """Dates each ticket by the worker's clock alone."""

    def block(self, head: Head, now: datetime, salt: Callable[[], str]) -> Block:
        """Return the next block without reading the last date."""
        return Progress.block(self, replace(head, assigned_at=None), now, salt)


class OwnClock(Allocator):
    """Allocates by its own clock."""

    def start(self, project_id: str, requests: Sequence[CreateTicket]) -> Progress:
        """Return the allocation."""
        cached = self.cache.head(project_id, self.now())
        return DatesByItsClock(project_id, list(requests), cached)


def without_chains(envelopes: Sequence[Envelope]) -> Sequence[Envelope]:
    """Leave out each ticket's chain."""
    return [
        replace(envelope, event=_without_chain(envelope.event))
        if isinstance(envelope.event, TicketNumberAssigned)
        else envelope
        for envelope in envelopes
    ]


def _without_chain(event: TicketNumberAssigned) -> TicketNumberAssigned:
    data = event.data.model_copy(update={"chain": None})
    return event.model_copy(update={"data": data})


def recording_no_chain(environment: ExecutionEnvironment) -> Handler:
    """Put the records of keys without the chain."""

    def change(put: Request) -> Request:
        if put["TableName"] == TICKETS:
            return put
        kept = {name: value for name, value in put["Item"].items() if name != "chain"}
        return {**put, "Item": kept}

    client = with_puts(environment.dynamodb, change)
    return replace(environment, dynamodb=client).handler()
