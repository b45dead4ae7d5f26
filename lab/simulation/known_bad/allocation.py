"""Known-bad caches and decisions, and a correct cache that only costs more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from simulation.aws.lambda_service import Handler
from simulation.known_bad.adapters import Announcing
from simulation.world.execution_environment import ExecutionEnvironment, Slots
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.cancellation import NextStep, next_step
from ticket_numbering.allocation.progress import Progress
from ticket_numbering.allocation.sequence_cache import SequenceCache
from ticket_numbering.allocation.store import MAX_KEYS_PER_READ, Reason
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.errors import StoreRefusedError
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import Assignment, CreateTicket, RequestKey


def increment_on_any_cancellation(
    block: Block, slots: Slots, attempts: int
) -> NextStep:
    """Take another worker's attempt for a number that is taken."""
    taken = slots[0].taken_by or replace(block.head, number=block.first_number)
    step = next_step(block, slots, attempts)
    return replace(step, head=taken, error=None, splits=False)


def increment_by_block_length(block: Block, slots: Slots, attempts: int) -> NextStep:
    """Take the whole block for taken when its first number is."""
    step = next_step(block, slots, attempts)
    if step.collided and not step.error:
        return replace(step, head=block.last, splits=False)
    return step


@dataclass(frozen=True)
class Uncached(Allocator):
    """Allocates without a cached number, in one way or another."""

    kind: type[Progress] = Progress

    def start(self, project_id: str, requests: Sequence[CreateTicket]) -> Progress:
        """Return the allocation."""
        return self.kind(project_id, list(requests))


class LateRivals(Progress):
    """Refuses at a cap after all others are numbered, also where a rival waits."""

    def refusable(self, next_number: int) -> list[CreateTicket]:
        """Return the requests, once no request of any key accepts the number."""
        refusable = Progress.refusable(self, next_number)
        firsts = {request.key: request for request in reversed(self.pending)}.values()
        return (
            [] if any(request.accepts(next_number) for request in firsts) else refusable
        )


class IgnoresCaps(Allocator):
    """Numbers every request, in spite of its cap."""

    def start(self, project_id: str, requests: Sequence[CreateTicket]) -> Progress:
        """Return the allocation of requests without caps."""
        uncapped = [
            request.model_copy(update={"max_number": None}) for request in requests
        ]
        return Allocator.start(self, project_id, uncapped)


class ByPlace(Progress):
    """Refuses a capped request by the number that it would get in its block."""

    def refusable(self, next_number: int) -> list[CreateTicket]:
        """Return the requests whose places are above their caps, a read's worth."""
        numbered = enumerate(self.pending, next_number)
        full = [request for number, request in numbered if not request.accepts(number)]
        return full[:MAX_KEYS_PER_READ]


class StartsOver(Progress):
    """Takes a collision for progress, and so attempts without a bound."""

    def block(self, head: Head, now: datetime, salt: Callable[[], str]) -> Block:
        """Return the next block; after a collision it is the first attempt."""
        self.attempts = 1 if self.collisions else self.attempts
        return Progress.block(self, head, now, salt)


class LetsPass(Progress):
    """Numbers the requests after one that DynamoDB rejects, also in order."""

    def split(self, block: Block, reason: str) -> None:
        """Halve the block, or fail its request alone."""
        self.in_order = False
        Progress.split(self, block, reason)


class FailsWhole(Progress):
    """Fails each request of a block if DynamoDB rejects one."""

    def split(self, block: Block, reason: str) -> None:
        """Fail all of them."""
        keys = [request.key for request in block.requests]
        self.settle(dict.fromkeys(keys, StoreRefusedError(reason)))


def caching_what_it_tries(environment: ExecutionEnvironment) -> Handler:
    """Cache the head after a block before its answer arrives."""

    class Store(DynamoDBTicketStore):
        def write_block(self, block: Block) -> Any:
            now = environment.clock.now()
            environment.cache.committed(block.project_id, block.last, now)
            return super().write_block(block)

    return environment.handler(store=Store)


class OneForAll(SequenceCache):
    """Caches one head for all projects."""

    def head(self, project_id: str, now: datetime) -> Head | None:
        """Return the last ticket of the last block of any project."""
        del project_id
        return SequenceCache.head(self, "any", now)

    def committed(self, project_id: str, head: Head, now: datetime) -> None:
        """Cache the last ticket of a block of any project."""
        del project_id
        SequenceCache.committed(self, "any", head, now)


def never_too_old(_: timedelta, entries: Any) -> SequenceCache:
    """Return a cache that trusts a number without a TTL: correct."""
    return SequenceCache(timedelta.max, entries)


def leaving_replays_to_the_holder(environment: ExecutionEnvironment) -> Handler:
    """Build the worker so that it leaves a replay unannounced if there is a conflict.

    It relies on the holder of the ticket's number to announce it.
    """
    left: set[str] = set()
    attempted: set[RequestKey] = set()

    def decide(block: Block, slots: Slots, attempts: int) -> NextStep:
        keys = {request.key for request in block.requests}
        if not keys & attempted:
            left.update(
                ticket_key(block.project_id, slot.recorded.number)
                for slot in slots
                if isinstance(slot.recorded, Assignment)
                and slot.ticket is Reason.CONFLICT
            )
        attempted.update(keys)
        return next_step(block, slots, attempts)

    def own(envelopes: Sequence[Envelope]) -> Sequence[Envelope]:
        kept = [envelope for envelope in envelopes if envelope.event.id not in left]
        left.clear()
        return kept

    # In line a conflict beside a replay is rare.
    publisher = partial(Announcing, change=own)
    real = environment.handler(decide=decide, publisher=publisher, line=None)

    def handle(event: dict[str, Any], context: Any) -> Any:
        attempted.clear()
        return real(event, context)

    return handle
