"""A block: requests that take contiguous numbers in one transaction, within limits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ticket_numbering.contract.chain import chain_of, commitment_of
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import Assignment, CreateTicket, RequestKey

MAX_BLOCK_REQUESTS: Final = 50
"""TransactWriteItems takes 100 actions; a request needs two: ticket and key."""

MAX_BLOCK_BYTES: Final = 4 * 1024 * 1024
"""TransactWriteItems takes 4 MB in total."""

MAX_ITEM_BYTES: Final = 400 * 1024
"""DynamoDB Developer Guide, "Quotas": the limit of an item, names and values."""

REQUEST_OVERHEAD_BYTES: Final = 1024
"""The size of the two items' other attributes: names, number, times, fingerprint."""


class NewTicket(NamedTuple):
    """A request, its assignment if the block is committed, and its salt."""

    request: CreateTicket
    assignment: Assignment
    salt: str


@dataclass(frozen=True, slots=True)
class Block:
    """Tickets of one project that take contiguous numbers, all or nothing."""

    project_id: str
    head: Head
    """The item before the first ticket, seen committed."""
    tickets: Sequence[NewTicket]

    @classmethod
    def of(
        cls,
        head: Head,
        requests: Sequence[CreateTicket],
        assigned_at: str,
        salt: Callable[[], str],
    ) -> "Block":
        """Return the block of these requests, in the order of their numbers.

        There is at least one, and all are of one project.
        """
        tickets: list[NewTicket] = []
        previous = head.chain
        for number, request in enumerate(requests, head.next_number):
            ticket_salt = salt()
            previous = chain_of(
                previous,
                project_id=request.project_id,
                number=number,
                idempotency_key=request.idempotency_key,
                commitment=commitment_of(ticket_salt, request.fingerprint),
                assigned_at=assigned_at,
            )
            assignment = Assignment(number, request.fingerprint, assigned_at, previous)
            tickets.append(NewTicket(request, assignment, ticket_salt))
        return cls(requests[0].project_id, head, tickets)

    @property
    def first_number(self) -> int:
        """The number of the first ticket."""
        return self.head.next_number

    @property
    def last(self) -> Head:
        """The last ticket: the head of the sequence once the block is committed."""
        last = self.tickets[-1].assignment
        return Head(last.number, last.assigned_at, last.chain or "")

    @property
    def requests(self) -> list[CreateTicket]:
        """The requests, in the order of their numbers."""
        return [ticket.request for ticket in self.tickets]

    def assignments(self) -> dict[RequestKey, Assignment]:
        """Return the assignments by key, for a committed block."""
        return {ticket.request.key: ticket.assignment for ticket in self.tickets}


def take_block(
    requests: Sequence[CreateTicket], first_number: int
) -> Sequence[CreateTicket]:
    """Return the first requests, as many as one block can hold.

    The first of them accepts the first number. A request whose number would exceed its
    `max_number` waits for the next block: an earlier request may turn out to be a
    replay, which frees a lower number.
    """
    size, length = 0, 0
    for number, request in enumerate(requests[:MAX_BLOCK_REQUESTS], first_number):
        size += request.size + REQUEST_OVERHEAD_BYTES
        if length and (size > MAX_BLOCK_BYTES or not request.accepts(number)):
            break
        length += 1
    return requests[:length]


def is_too_large(request: CreateTicket) -> bool:
    """Tell whether DynamoDB may reject the ticket for its size.

    Never true for a request in a body of at most `MAX_BODY_BYTES`.
    """
    return request.size + REQUEST_OVERHEAD_BYTES > MAX_ITEM_BYTES
