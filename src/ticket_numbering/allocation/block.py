"""A block: requests that take contiguous numbers in one transaction, and its limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ticket_numbering.contract.messages import Assignment, CreateTicket, RequestKey

MAX_BLOCK_REQUESTS: Final = 50
"""TransactWriteItems takes 100 actions; a request needs two, its ticket and its key."""

MAX_BLOCK_BYTES: Final = 4 * 1024 * 1024
"""TransactWriteItems takes 4 MB in all."""

MAX_ITEM_BYTES: Final = 400 * 1024
"""DynamoDB Developer Guide, "Quotas": the limit of an item, names and values."""

REQUEST_OVERHEAD_BYTES: Final = 1024
"""The rest of the two items: names, number, times, fingerprint."""


@dataclass(frozen=True, slots=True)
class Block:
    """Requests of one project that take contiguous numbers, all or none."""

    project_id: str
    first_number: int
    assigned_at: str
    requests: Sequence[CreateTicket]

    @property
    def next_number(self) -> int:
        """The number after the block."""
        return self.first_number + len(self.requests)

    def assignments(self) -> dict[RequestKey, Assignment]:
        """Return the assignments that a commit makes."""
        return {
            request.key: Assignment(number, request.fingerprint, self.assigned_at)
            for number, request in enumerate(self.requests, self.first_number)
        }


def take_block(
    requests: Sequence[CreateTicket], first_number: int
) -> Sequence[CreateTicket]:
    """Return the requests from the start that one block can hold.

    A request that would get more than its `max_number` waits for the next block: an
    earlier one may turn out to be a replay, and leave its number to it.

    Args:
        requests: At least one; the first accepts the first number.
        first_number: The number of the first.
    """
    size, length = 0, 0
    for number, request in enumerate(requests[:MAX_BLOCK_REQUESTS], first_number):
        size += request.size + REQUEST_OVERHEAD_BYTES
        if length and (size > MAX_BLOCK_BYTES or not request.accepts(number)):
            break
        length += 1
    return requests[:length]


def is_too_large(request: CreateTicket) -> bool:
    """Tell whether the ticket's size can be why DynamoDB refuses it.

    Of no request that comes in a body of at most `MAX_BODY_BYTES`.
    """
    return request.size + REQUEST_OVERHEAD_BYTES > MAX_ITEM_BYTES
