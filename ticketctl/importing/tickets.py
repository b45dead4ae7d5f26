"""Writes tickets that have their numbers already, each with its idempotency key."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from botocore.exceptions import ClientError

from ticket_numbering.contract import dynamodb_items
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CHAIN,
    EXTERNAL,
    IMPORTED_BY,
    NUMBER,
    ORIGIN,
    RECORD_ID,
    RESERVED,
    SEED_ATTRIBUTES,
    STATUS,
)
from ticketctl.aws.aws_errors import error_code
from ticketctl.aws.items import Ticket, key_record, serialized
from ticketctl.aws.stack import System
from ticketctl.aws.tickets import ticket_from, tickets_below, tickets_of
from ticketctl.cli.errors import NotThereError
from ticketctl.importing.lines import LEFT_BEHIND, Existing
from ticketctl.sequences.retry import RetryPolicy

_IN_FLIGHT: Final = 8
_AT_A_TIME: Final = 64
"""Tickets after which Ctrl-C takes effect, at the latest."""

WRITTEN: Final = "written"
ALREADY: Final = "there already"
MISSING: Final = "missing"

_ADDED: Final = LEFT_BEHIND | {NUMBER, ASSIGNED_AT}
"""Attributes of a ticket that are not of its request."""


def ticket_item(
    ticket: Existing, caller: str, reserved: Ticket | None = None
) -> dict[str, Any]:
    """Return the ticket as the worker writes it, with its origin and the caller."""
    before = reserved.fields if reserved else {}
    kept = {name: before[name] for name in SEED_ATTRIBUTES & before.keys()}
    item = dynamodb_items.ticket_item(ticket.request, ticket.assignment)
    return serialized(item | kept | {ORIGIN: EXTERNAL, IMPORTED_BY: caller})


def key_item(ticket: Existing, retention_days: int) -> dict[str, Any]:
    """Return the record of its key; its retention begins now."""
    expiry = time.time() + timedelta(days=retention_days).total_seconds()
    item = dynamodb_items.key_item(
        ticket.request,
        ticket.assignment,
        expires_at=int(expiry) if retention_days else None,
    )
    return serialized(item)


@dataclass(frozen=True)
class Import:
    """Writes tickets below the last numbers of their projects."""

    stack: System
    caller: str
    """The ARN of the caller."""
    retention_days: int = 0
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def write_all(self, tickets: Sequence[Existing]) -> Iterator[tuple[Existing, str]]:
        """Write the missing tickets, several at a time; yield each result.

        Their projects must be seeded at least up to them.
        """
        with ThreadPoolExecutor(_IN_FLIGHT) as pool:
            for start in range(0, len(tickets), _AT_A_TIME):
                some = tickets[start : start + _AT_A_TIME]
                yield from pool.map(lambda ticket: (ticket, self.write(ticket)), some)

    def write(self, ticket: Existing) -> str:
        """Write a ticket; return the result: `WRITTEN`, `ALREADY`, or why not."""
        return self.retry.until(
            lambda: self._attempt(ticket),
            f"{ticket.ticket_key}: others kept writing it",
        )

    def _attempt(self, ticket: Existing) -> str | None:
        there = ticket_from(self.stack, ticket.project_id, ticket.number)
        if there and there.number == ticket.number and _is_taken(there):
            return comparison(ticket, there)
        if there is None or not self._is_external(ticket, there):
            return (
                "it is missing among numbers that were given here; see: ticketctl audit"
            )
        puts = self._puts(ticket, there if there.number == ticket.number else None)
        try:
            self.stack.client("dynamodb").transact_write_items(
                TransactItems=[{"Put": put} for put in puts]
            )
        except ClientError as error:
            if error_code(error) != "TransactionCanceledException":
                raise
            answer: Mapping[str, Any] = error.response
            match answer.get("CancellationReasons"):
                case [_, {"Code": "ConditionalCheckFailed", "Item": record}] if record:
                    return _refusal(ticket, record)
            return None
        return WRITTEN

    def _is_external(self, ticket: Existing, there: Ticket) -> bool:
        """Return whether the table says that the number is external.

        It knows the item of the number, or else the next above.
        """
        lower = tickets_below(self.stack, ticket.project_id, ticket.number, page=1)
        below = next(lower, None)
        # Right behind a seed's last number a worker may write, until the next is done.
        is_between = below is not None and below.is_external and not below.ends_a_seed
        following = below.number + 1 if below else 1
        is_reserved = there.number == ticket.number == following
        return there.is_external and (is_between or is_reserved)

    def _puts(
        self, ticket: Existing, reserved: Ticket | None
    ) -> Sequence[Mapping[str, Any]]:
        """Return the puts of a ticket, in place of a reserved item if there is one."""
        outputs = self.stack.outputs
        condition: dict[str, Any] = {
            "ConditionExpression": "attribute_not_exists(project_id)"
        }
        if reserved:
            condition = {
                "ConditionExpression": (
                    "#status = :reserved AND attribute_not_exists(#chain)"
                ),
                "ExpressionAttributeNames": {"#status": STATUS, "#chain": CHAIN},
                "ExpressionAttributeValues": {":reserved": {"S": RESERVED}},
            }
        return (
            {
                "TableName": outputs["TicketsTableName"],
                "Item": ticket_item(ticket, self.caller, reserved),
                **condition,
            },
            {
                "TableName": outputs["IdempotencyKeysTableName"],
                "Item": key_item(ticket, self.retention_days),
                "ConditionExpression": f"attribute_not_exists({RECORD_ID})",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            },
        )


def results_there(stack: System, tickets: Sequence[Existing]) -> dict[str, str]:
    """Compare the tickets with those of their numbers, which are read in pages.

    Returns:
        `ALREADY`, or how it differs, by ticket key; nothing of missing tickets.
    """
    wanted: dict[str, dict[int, Existing]] = defaultdict(dict)
    for ticket in tickets:
        wanted[ticket.project_id][ticket.number] = ticket
    return {
        there.ticket_key: comparison(by_number[there.number], there)
        for project, by_number in wanted.items()
        for there in tickets_of(stack, project, by_number)
        if _is_taken(there)
    }


def _is_taken(there: Ticket) -> bool:
    """Return whether no ticket can take its place; a lost one's hash must stay."""
    return there.status != RESERVED or CHAIN in there.fields


def comparison(ticket: Existing, there: Ticket) -> str:
    """Return `ALREADY`, or how the ticket of that number differs."""
    if there.status == RESERVED:
        return "a lost ticket has this number; an import would destroy its hash"
    is_own = there.idempotency_key == ticket.idempotency_key
    is_erased = is_own and (ticket.is_erased or there.status == dynamodb_items.ERASED)
    wanted = dynamodb_items.ticket_item(ticket.request, ticket.assignment)
    if is_erased or _asked_for(there.fields) == _asked_for(wanted):
        return ALREADY
    if is_own:
        return "the ticket of this number and idempotency_key says something else"
    return "another ticket has this number"


def _asked_for(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in _ADDED}


def _refusal(ticket: Existing, item: Mapping[str, Any]) -> str:
    """Return the reason why the key is taken, by its record."""
    try:
        record = key_record(item)
    except NotThereError as error:
        return f"its idempotency_key is taken: {error}"
    if record.number != ticket.number:
        return f"its idempotency_key is that of {record.project_id}-{record.number}"
    # Perhaps another import is writing it at this moment, and is seen half way.
    return (
        "its idempotency_key is recorded without the ticket; run the import again, "
        "and if it stays: ticketctl audit"
    )
