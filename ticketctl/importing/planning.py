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
    """A line with its planned result, and the reasons."""

    ticket: ExternalTicket
    result: str
    """`ALREADY`, `UNRECORDED`, `MISSING`, or the reason of a refusal."""
    place: Item | None = None
    """The item that it replaces."""
    record: KeyRecord | None = None
    """The record of its key, from an earlier import."""
    unfinished: int = 0
    """The external number above it up to which a seed must first be finished."""
    has_other_time: bool = False
    """Whether the existing item has another time than the line."""

    @property
    def is_due(self) -> bool:
        """Whether an import writes it."""
        return self.result == MISSING

    @property
    def is_refused(self) -> bool:
        """Whether an import refuses it."""
        return self.result not in {MISSING, ALREADY, UNRECORDED}


def judge_all(
    stack: StackAccess,
    judge: Judge,
    tickets: Iterable[ExternalTicket],
    limiter: RateLimiter | None = None,
    *,
    is_seeded: bool = False,
) -> Iterator[PlannedTicket]:
    """Yield the planned results, each project's lowest number first."""
    for project_id, lines in by_project(tickets).items():
        ordered = [ticket for _, ticket in sorted(lines.items())]
        for start in range(0, len(ordered), _AT_A_TIME):
            some = ordered[start : start + _AT_A_TIME]
            numbers, page = [ticket.number for ticket in some], len(some) + 1
            arounds = [*around_each(stack, project_id, numbers, page, limiter)]
            # Read after the tickets: by then an existing ticket has its record.
            records = records_of(
                stack, [ticket.request.key for ticket in some], limiter
            )
            for ticket, (_, around) in zip(some, arounds, strict=True):
                recorded = records.get(ticket.request.key)
                record = key_record(recorded) if recorded else None
                result = judge.result(ticket, around, record, is_seeded=is_seeded)
                yield _judged(ticket, around, record, result)


def _judged(
    ticket: ExternalTicket, around: Neighbours, record: Record | None, result: str
) -> PlannedTicket:
    """Return a planned result, with items only for a ticket to write."""
    there, following = around.there, around.there or around.above
    if result != MISSING:
        date = there.fields.get(ASSIGNED_AT) if there else None
        is_other = there is not None and ticket.is_dated and date != ticket.assigned_at
        return PlannedTicket(ticket, result, has_other_time=is_other)
    is_open = around.hole is FindingKind.UNFINISHED_SEED
    own = record if isinstance(record, KeyRecord) else None
    end = following.number if following and is_open else 0
    return PlannedTicket(ticket, result, there, own, end)
