"""The progress of one project's requests in a batch: pending or settled."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

from ticket_numbering.allocation.block import (
    MAX_BLOCK_REQUESTS,
    Block,
    is_too_large,
    take_block,
)
from ticket_numbering.allocation.place import Wait
from ticket_numbering.allocation.store import MAX_KEYS_PER_READ
from ticket_numbering.contract.errors import (
    NotAttemptedError,
    StoreRefusedError,
    TicketNumberingError,
    TicketTooLargeError,
    TransientError,
)
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import (
    Assignment,
    CreateTicket,
    RequestIdentity,
    RequestKey,
)


@dataclass(slots=True)
class Progress:
    """Progress of one project's requests in a batch."""

    project_id: str
    pending: list[CreateTicket]
    """In the order of sending, each once; different ones can share a key."""
    head: Head | None = None
    """The last item of the sequence, seen committed; None: to be read."""
    block_limit: int = MAX_BLOCK_REQUESTS
    attempts: int = 0
    """Since the last progress."""
    last_error: Exception = field(
        default_factory=lambda: NotAttemptedError("the invocation's time ran out")
    )
    assigned: dict[RequestKey, Assignment] = field(default_factory=dict)
    """The numbers of the blocks that were committed here."""
    settled: dict[RequestKey, Assignment | TransientError] = field(default_factory=dict)
    """The number recorded before, or why no request of the key can have one now."""
    refused: dict[RequestIdentity, TicketNumberingError] = field(default_factory=dict)
    """Why these requests have no number; others of their keys may have one."""
    attempts_per_block: list[int] = field(default_factory=list)
    collisions: int = 0
    """Blocks cancelled because a number was taken."""
    conflicts: int = 0
    """Blocks cancelled because another transaction held an item."""
    damaged_dates: set[int] = field(default_factory=set)
    """The tickets whose dates were not followed, by number."""
    wait: Wait = field(default_factory=Wait)
    """In the line of the project."""
    in_order: bool = False
    """Whether no request may be numbered before one that DynamoDB refuses."""

    def answer_to(self, request: CreateTicket) -> Assignment | Exception:
        """Return the answer to a request; a pending one has failed.

        The number of an equal request beats a refusal.
        """
        answer = self.assigned.get(request.key) or self.settled.get(request.key)
        if isinstance(answer, Assignment) and request.matches(answer.fingerprint):
            return answer
        return self.refused.get(request.identity) or answer or self.last_error

    def refusable(self, next_number: int) -> list[CreateTicket]:
        """Return requests whose cap is reached and that must not wait any longer.

        Either no pending request accepts the next number, or one of the same key does
        and waits behind them. The number before the next one is committed, always.

        Returns:
            The requests of at most `MAX_KEYS_PER_READ` keys.
        """
        accepting: set[RequestKey] = set()
        # Of each key, those before the first that accepts.
        in_front: dict[RequestKey, list[CreateTicket]] = defaultdict(list)
        for request in self.pending:
            if request.accepts(next_number):
                accepting.add(request.key)
            elif request.key not in accepting:
                in_front[request.key].append(request)
        none_accepts = not accepting
        due = [
            requests
            for key, requests in in_front.items()
            if none_accepts or key in accepting
        ]
        return [*chain.from_iterable(due[:MAX_KEYS_PER_READ])]

    def block(self, head: Head, now: datetime, salt: Callable[[], str]) -> Block:
        """Return the next block to write: of each key, only its first request."""
        if not head.can_be_followed(now):
            self.damaged_dates.add(head.number)
        requests = take_block(self.numberable(head.next_number), head.next_number)
        return Block.of(head, requests, head.date_after(now), salt)

    def numberable(self, number: int) -> list[CreateTicket]:
        """Return the requests that can be in a block that begins with the number."""
        first: dict[RequestKey, CreateTicket] = {}
        for request in self.pending:
            first.setdefault(request.key, request)
        accepting = [request for request in first.values() if request.accepts(number)]
        return accepting[: self.block_limit]

    def commit(self, block: Block) -> None:
        """Take over the numbers of a committed block."""
        self.attempts_per_block.append(self.attempts)
        self.head = block.last
        self.assigned |= block.assignments()
        self._remove_settled()

    def settle(
        self, outcomes: Mapping[RequestKey, Assignment | TransientError]
    ) -> None:
        """Take out every request of these keys."""
        self.settled |= outcomes
        self._remove_settled()

    def settle_requests(
        self, errors: Mapping[RequestIdentity, TicketNumberingError]
    ) -> None:
        """Take out these requests, and leave the others of their keys."""
        self.refused |= errors
        self._remove_settled()

    def split(self, block: Block, reason: str) -> None:
        """Halve the block; fail a request that DynamoDB refuses on its own.

        It is poison if it is too large. DynamoDB refuses a sound ticket too, if a
        table has another key, for example. Then none behind it is tried, if the order
        counts; those before it have reached their caps, and are refused as always.
        """
        if len(block.requests) > 1:
            self.block_limit = len(block.requests) // 2
            return
        [request] = block.requests
        problem = f"DynamoDB refuses the ticket: {reason}"
        if is_too_large(request):
            self.settle_requests({request.identity: TicketTooLargeError(problem)})
        else:
            if self.in_order:
                self._hold_back_behind(request)
            self.settle({request.key: StoreRefusedError(problem)})
        self.block_limit = MAX_BLOCK_REQUESTS

    def _hold_back_behind(self, request: CreateTicket) -> None:
        """Fail the requests behind this one, without an attempt."""
        error = NotAttemptedError("an earlier request of the project is refused")
        behind = self.pending[self.pending.index(request) + 1 :]
        self.settle_requests({request.identity: error for request in behind})

    def _remove_settled(self) -> None:
        answered = self.assigned.keys() | self.settled.keys()
        self.pending = [
            request
            for request in self.pending
            if request.key not in answered and request.identity not in self.refused
        ]
        self.attempts = 0
