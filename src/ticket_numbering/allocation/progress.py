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
    """Distinct requests, in the order of sending; different ones can share a key."""
    head: Head | None = None
    """The last item of the sequence, seen committed; None if it must be read."""
    block_limit: int = MAX_BLOCK_REQUESTS
    attempts: int = 0
    """The attempts since the last progress."""
    last_error: Exception = field(
        default_factory=lambda: NotAttemptedError("the invocation's time ran out")
    )
    assigned: dict[RequestKey, Assignment] = field(default_factory=dict)
    """The numbers of the blocks that this batch committed."""
    settled: dict[RequestKey, Assignment | TransientError] = field(default_factory=dict)
    """The recorded number of a key, or the error of all its requests."""
    errors: dict[RequestIdentity, TicketNumberingError] = field(default_factory=dict)
    """The errors of single requests; others of their keys may have a number."""
    attempts_per_block: list[int] = field(default_factory=list)
    collisions: int = 0
    """Blocks that were cancelled because a number was taken."""
    conflicts: int = 0
    """Blocks that were cancelled because another transaction held an item."""
    damaged_dates: set[int] = field(default_factory=set)
    """The numbers of tickets whose dates were not followed."""
    wait: Wait = field(default_factory=Wait)
    """The wait in the line of the project."""
    in_order: bool = False
    """Whether no request may overtake one that DynamoDB rejects."""

    def answer_to(self, request: CreateTicket) -> Assignment | Exception:
        """Return the answer to a request; a pending request has failed.

        The number of an equal request takes precedence over a refusal.
        """
        answer = self.assigned.get(request.key) or self.settled.get(request.key)
        if isinstance(answer, Assignment) and request.matches(answer.fingerprint):
            return answer
        return self.errors.get(request.identity) or answer or self.last_error

    def refusable(self, next_number: int) -> list[CreateTicket]:
        """Return the requests to refuse: their cap is reached, and others wait for it.

        Either no pending request accepts the next number, or one of the same key does
        and waits behind them. The number before the next one is always committed.

        Returns:
            The requests of at most `MAX_KEYS_PER_READ` keys.
        """
        accepting: set[RequestKey] = set()
        # For each key, the requests before the first that accepts the number.
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
        """Return the next block to write, with only the first request of each key."""
        if not head.can_be_followed(now):
            self.damaged_dates.add(head.number)
        requests = take_block(self.numberable(head.next_number), head.next_number)
        return Block.of(head, requests, head.date_after(now), salt)

    def numberable(self, number: int) -> list[CreateTicket]:
        """Return the requests for a block that begins with the number."""
        seen, requests = set[RequestKey](), list[CreateTicket]()
        for request in self.pending:
            if len(requests) == self.block_limit:
                break
            if request.key not in seen and request.accepts(number):
                requests.append(request)
            seen.add(request.key)
        return requests

    def commit(self, block: Block) -> None:
        """Record the numbers of a committed block."""
        self.attempts_per_block.append(self.attempts)
        self.head = block.last
        self.assigned |= block.assignments()
        # A halved block grows by one: throttling ends, and an invalid request is found.
        self.block_limit = min(MAX_BLOCK_REQUESTS, self.block_limit + 1)
        self._remove_settled()

    def settle(
        self, outcomes: Mapping[RequestKey, Assignment | TransientError]
    ) -> None:
        """Settle every request of these keys."""
        self.settled |= outcomes
        self._remove_settled()

    def settle_requests(
        self, errors: Mapping[RequestIdentity, TicketNumberingError]
    ) -> None:
        """Settle these requests, and no other request of their keys."""
        self.errors |= errors
        self._remove_settled()

    def split(self, block: Block, reason: str) -> None:
        """Halve an invalid block; fail a request that is invalid on its own.

        The request is poison if it is too large. Otherwise its ticket is valid, and
        DynamoDB rejects it because a table has another key, for example. Then no later
        request is tried if the order counts; the earlier ones have reached their caps,
        and are refused as always.
        """
        if len(block.requests) > 1:
            self.block_limit = len(block.requests) // 2
            return
        [request] = block.requests
        problem = f"DynamoDB rejects the ticket: {reason}"
        if is_too_large(request):
            self.settle_requests({request.identity: TicketTooLargeError(problem)})
        else:
            if self.in_order:
                self._hold_back_behind(request)
            self.settle({request.key: StoreRefusedError(problem)})
        self.block_limit = MAX_BLOCK_REQUESTS

    def _hold_back_behind(self, request: CreateTicket) -> None:
        """Fail the requests behind this one, without an attempt."""
        error = NotAttemptedError("an earlier request of the project failed")
        behind = self.pending[self.pending.index(request) + 1 :]
        self.settle_requests({request.identity: error for request in behind})

    def _remove_settled(self) -> None:
        answered = self.assigned.keys() | self.settled.keys()
        self.pending = [
            request
            for request in self.pending
            if request.key not in answered and request.identity not in self.errors
        ]
        self.attempts = 0
