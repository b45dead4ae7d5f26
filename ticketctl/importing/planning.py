"""Judges all tickets of a file before any is written."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ticket_numbering.contract.dynamodb_items import ASSIGNED_AT
from ticketctl.aws.items import key_record
from ticketctl.aws.retry import RateLimiter
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.tickets import around_each, records_of
from ticketctl.importing.judging import ALREADY, MISSING, UNRECORDED, Judge
from ticketctl.importing.lines import ExternalTicket, by_project
from ticketctl.ledger.findings import FindingKind
from ticketctl.ledger.item import Item
from ticketctl.ledger.record import KeyRecord, Record
from ticketctl.ledger.standing import Neighbours

_AT_A_TIME: Final = 100


@dataclass(frozen=True)
class PlannedTicket:
    """A line, what an import would do about it, and the ground of that."""

    ticket: ExternalTicket
    result: str
    """`ALREADY`, `UNRECORDED`, `MISSING`, or why it is refused."""
    place: Item | None = None
    """The item that gives way to it."""
    record: KeyRecord | None = None
    """The record of its key, from an earlier import."""
    unfinished: int = 0
    """The external number above it up to which a seed is to be finished first."""
    has_other_time: bool = False
    """Whether the item there has another time than the line tells."""

    @property
    def is_due(self) -> bool:
        """Whether an import writes it."""
        return self.result == MISSING

    @property
    def is_refused(self) -> bool:
        """Whether an import leaves it out."""
        return self.result not in {MISSING, ALREADY, UNRECORDED}


def judge_all(
    stack: StackAccess,
    judge: Judge,
    tickets: Iterable[ExternalTicket],
    limiter: RateLimiter | None = None,
    *,
    is_seeded: bool = False,
) -> Iterator[PlannedTicket]:
    """Yield the verdicts on the tickets, each project's lowest number first.

    Args:
        stack: The stack with the tables.
        judge: The judge.
        tickets: The tickets of a file.
        limiter: The limiter of the reads.
        is_seeded: Whether their projects are seeded, as an import does first.
    """
    for project_id, lines in by_project(tickets).items():
        ordered = [ticket for _, ticket in sorted(lines.items())]
        for start in range(0, len(ordered), _AT_A_TIME):
            some = ordered[start : start + _AT_A_TIME]
            numbers, page = [ticket.number for ticket in some], len(some) + 1
            arounds = [*around_each(stack, project_id, numbers, page, limiter)]
            # Read afterwards: a ticket that is there has its record by then.
            records = records_of(
                stack, [ticket.request.key for ticket in some], limiter
            )
            for ticket, (_, around) in zip(some, arounds, strict=True):
                recorded = records.get(ticket.request.key)
                record = key_record(recorded) if recorded else None
                result = judge.verdict(ticket, around, record, is_seeded=is_seeded)
                yield _judged(ticket, around, record, result)


def _judged(
    ticket: ExternalTicket, around: Neighbours, record: Record | None, result: str
) -> PlannedTicket:
    """Return a verdict, with the items only of a ticket to be written."""
    there, following = around.there, around.there or around.above
    if result != MISSING:
        date = there.fields.get(ASSIGNED_AT) if there else None
        is_other = there is not None and ticket.is_dated and date != ticket.assigned_at
        return PlannedTicket(ticket, result, has_other_time=is_other)
    is_open = around.hole is FindingKind.UNFINISHED_SEED
    own = record if isinstance(record, KeyRecord) else None
    end = following.number if following and is_open else 0
    return PlannedTicket(ticket, result, there, own, end)
