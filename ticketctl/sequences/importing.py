"""Writes tickets that have their numbers already, each with its idempotency key."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, Final

from ticketctl.cli.errors import NotThereError
from ticketctl.sequences.import_lines import Existing
from ticketctl.sequences.imported_items import SEED_ATTRIBUTES, key_item, ticket_item
from ticketctl.sequences.sequences import highest_below, item_from
from ticketctl.sequences.transactions import Pace, Put, Refusal, transact
from ticketctl.system.items import RESERVED, Ticket, key_record, plain
from ticketctl.system.stack import System

IN_FLIGHT: Final = 8
_AT_A_TIME: Final = 64
"""Tickets after which Ctrl-C is heard, at the latest."""

WRITTEN: Final = "written"
ALREADY: Final = "there already"

_TRIES_OF_A_LOST_TICKET: Final = 6
"""Another import may be committing key and ticket; with the pauses, a second or so."""

_ADDED: Final = frozenset(
    {"number", "assigned_at", "origin", "status", "voided_at", "voided_reason"}
)
"""Attributes of a ticket that its request did not ask for."""


@dataclass
class Report:
    """What an import came to."""

    written: int = 0
    already: int = 0
    refused: list[tuple[Existing, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Import:
    """Writes tickets below the last numbers of their projects."""

    stack: System
    retention_days: int = 0
    pace: Pace = field(default_factory=Pace)

    def write_all(
        self, tickets: Iterable[Existing], advance: Callable[[], None]
    ) -> Report:
        """Write what is not there yet, several at a time.

        Args:
            tickets: Whose projects are seeded at least up to them.
            advance: Called after each.
        """
        report = Report()
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            for some in _chunks(tickets):
                for ticket, why in zip(some, pool.map(self.write, some), strict=True):
                    if why == WRITTEN:
                        report.written += 1
                    elif why == ALREADY:
                        report.already += 1
                    else:
                        report.refused.append((ticket, why))
                    advance()
        return report

    def write(self, ticket: Existing) -> str:
        """Write a ticket; return what came of it: `WRITTEN`, `ALREADY`, or why not."""
        lost = count(1)
        return self.pace.until(
            lambda: self._attempt(ticket, lost),
            f"{ticket.ticket_key}: others kept writing it",
        )

    def _attempt(self, ticket: Existing, lost: Iterator[int]) -> str | None:
        there = item_from(self.stack, ticket.project_id, ticket.number)
        if there and there.number == ticket.number and there.status != RESERVED:
            return _difference(ticket, there)
        if there is None or not self._is_from_elsewhere(ticket, there):
            return (
                "it is missing among numbers that were given here; see: ticketctl audit"
            )
        puts = self._puts(ticket, there if there.number == ticket.number else None)
        refusals = transact(self.stack.client("dynamodb"), puts)
        return _fate(ticket, refusals[-1], lost) if refusals else WRITTEN

    def _is_from_elsewhere(self, ticket: Existing, there: Ticket) -> bool:
        """Tell whether the number was used elsewhere, for all that the table says.

        Args:
            ticket: A ticket that is not written.
            there: The item of its number, or else the next above.
        """
        below = highest_below(self.stack, ticket.project_id, ticket.number)
        # Right behind a seed's last number a worker may write, until the next is done.
        is_between = below and below.is_from_elsewhere and not below.ends_a_seed
        is_next = ticket.number == (below.number + 1 if below else 1)
        is_reserved = there.number == ticket.number and is_next
        return there.is_from_elsewhere and bool(is_between or is_reserved)

    def _puts(self, ticket: Existing, reserved: Ticket | None) -> Sequence[Put]:
        """Return what is written, in place of a reserved item if there is one."""
        outputs = self.stack.outputs
        condition: Put = {"ConditionExpression": "attribute_not_exists(project_id)"}
        if reserved:
            condition = {
                "ConditionExpression": "#status = :reserved",
                "ExpressionAttributeNames": {"#status": "status"},
                "ExpressionAttributeValues": {":reserved": {"S": RESERVED}},
            }
        return (
            {
                "TableName": outputs["TicketsTableName"],
                "Item": ticket_item(ticket, reserved),
                **condition,
            },
            {
                "TableName": outputs["IdempotencyKeysTableName"],
                "Item": key_item(ticket, self.retention_days),
                "ConditionExpression": "attribute_not_exists(id)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            },
        )


def _difference(ticket: Existing, there: Ticket) -> str:
    if _asked_for(there.fields) == _asked_for(plain(ticket_item(ticket))):
        return ALREADY
    if there.idempotency_key == ticket.idempotency_key:
        return "the ticket of this number and idempotency_key says something else"
    return "another ticket has this number"


def _asked_for(fields: Mapping[str, Any]) -> dict[str, Any]:
    added = _ADDED | SEED_ATTRIBUTES
    return {name: value for name, value in fields.items() if name not in added}


def _fate(ticket: Existing, key: Refusal, lost: Iterator[int]) -> str | None:
    """Tell whose the key is; if it was not in the way, it is to be tried again.

    Args:
        ticket: What was not written.
        key: Why its key was not.
        lost: Counts how often the key was there without its ticket.
    """
    if not key.is_condition or key.item is None:
        return None
    try:
        record = key_record(key.item)
    except NotThereError as error:
        return f"its idempotency_key is taken: {error}"
    if record.number != ticket.number:
        return f"its idempotency_key is that of {record.project_id}-{record.number}"
    if next(lost) < _TRIES_OF_A_LOST_TICKET:
        return None
    return "its idempotency_key is recorded without the ticket; see: ticketctl audit"


def _chunks(tickets: Iterable[Existing]) -> Iterator[list[Existing]]:
    rest = iter(tickets)
    while some := list(islice(rest, _AT_A_TIME)):
        yield some
