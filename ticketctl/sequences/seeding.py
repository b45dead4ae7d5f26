"""Seeds a sequence: the numbers up to one are external, and the worker continues.

The worker takes a project's highest number plus one, so one reserved item at the last
external number is enough for each later read. A slow worker still tries the number
after the old last one. So a second reserved item, the guard, takes that number: the
slow worker collides, sees that it is external, and reads again.
`docs/seeding.md` has the argument.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ticket_numbering.contract import aws_codes
from ticket_numbering.contract.dynamodb_items import (
    CALLERS,
    CHAIN,
    EXTERNAL,
    ORIGIN,
    REASONS,
    RESERVED,
    RESERVED_AFTER,
    RESERVED_UP_TO,
    STATUS,
    TIMES,
    ticket_id,
)
from ticketctl.aws.aws_errors import Suppressed
from ticketctl.aws.items import serialized, timestamp_now
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.tickets import get_ticket, last_number, tickets_above, tickets_below
from ticketctl.cli.errors import InputError
from ticketctl.ledger.sequence import ends_a_seed, guards_a_seed, is_given_here


@dataclass(frozen=True)
class Seeded:
    """A seeded sequence."""

    project_id: str
    last: int
    next: int
    was_already: bool
    given_within: tuple[int, ...]
    """The numbers that workers assigned during the seed."""


@dataclass(frozen=True)
class Seed:
    """A seed of the external numbers up to `last`."""

    stack: StackAccess
    project_id: str
    last: int
    caller: str
    """The ARN of the caller."""
    reason: str = ""
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def apply(self) -> Seeded:
        """Seed the sequence up to the last number; a failed seed can be repeated.

        Raises:
            InputError: The sequence is past the number.
            BusyError: Workers kept taking the next number.
        """
        busy = f"{self.project_id}: others kept taking the next number"
        before, was_already = self.retry.until(self._jump, busy)
        self.retry.until(self._close, busy)
        within = given_between(self.stack, self.project_id, before, self.last)
        now = last_number(self.stack, self.project_id)
        return Seeded(self.project_id, self.last, now + 1, was_already, tuple(within))

    def _jump(self) -> tuple[int, bool] | None:
        """Reserve the last number.

        Returns:
            The project's last number before it, and whether an earlier call reserved
            it; None if a worker was faster.
        """
        before = last_number(self.stack, self.project_id)
        if before >= self.last:
            return self._seeded_from(before), True
        is_done = self.reserve(self.last, before)
        return (before, False) if is_done else None

    def _seeded_from(self, highest: int) -> int:
        """Return the last number before an earlier seed up to the same number.

        Raises:
            InputError: There was no such seed: the sequence would go back.
        """
        there = get_ticket(self.stack, self.project_id, self.last)
        if there and not (is_given_here(there.kind) or guards_a_seed(there.kind)):
            # Numbers that were imported or reserved by hand do not have it.
            return int(there.fields.get(RESERVED_AFTER, self.last))
        raise InputError(
            f"{self.project_id} has numbers up to {highest} already; "
            f"a sequence only goes on, so give a number above {highest}"
        )

    def _close(self) -> bool:
        """Reserve the numbers that a worker with an older read may still write.

        These are the number after the last ticket of the worker and, if earlier seeds
        or imports ended below this one, the number after each of them.

        Returns:
            Whether all are reserved; if not, a worker was faster, and a retry is due.
        """
        end, above = 0, self.last
        following: list[int] = []
        for item in tickets_below(self.stack, self.project_id, self.last):
            if is_given_here(item.kind):
                end = item.number
                break
            if ends_a_seed(item.kind) and item.number + 1 < above:
                following.append(item.number + 1)
            above = item.number
        if end + 1 < above:
            following.append(end + 1)
        return all(self.reserve(number) for number in following)

    def item(
        self, number: int, reserved_after: int | None = None, chain: str = ""
    ) -> dict[str, Any]:
        """Return the reserved item of a number; a lost ticket's has its hash."""
        fields: dict[str, Any] = {
            STATUS: RESERVED,
            ORIGIN: EXTERNAL,
            TIMES[RESERVED]: timestamp_now(),
            CALLERS[RESERVED]: self.caller,
            RESERVED_UP_TO: self.last,
        }
        if self.reason:
            fields[REASONS[RESERVED]] = self.reason
        if reserved_after is not None:
            fields[RESERVED_AFTER] = reserved_after
        if chain:
            fields[CHAIN] = chain
        return ticket_id(self.project_id, number) | serialized(fields)

    def reserve(
        self, number: int, reserved_after: int | None = None, chain: str = ""
    ) -> bool:
        """Put a reserved item, and return whether the number was free."""
        with Suppressed(aws_codes.FORESTALLED):
            self.stack.client("dynamodb").put_item(
                TableName=self.stack.outputs["TicketsTableName"],
                Item=self.item(number, reserved_after, chain),
                ConditionExpression="attribute_not_exists(project_id)",
            )
            return True
        return False


def given_between(
    stack: StackAccess, project_id: str, low: int, high: int
) -> Iterator[int]:
    """Yield the numbers between the two that workers assigned.

    A Query may see half of a block: the numbers before a ticket were assigned, too.
    """
    for ticket in tickets_above(stack, project_id, low):
        if ticket.number >= high:
            return
        if is_given_here(ticket.kind):
            yield from range(low + 1, ticket.number + 1)
        low = ticket.number
