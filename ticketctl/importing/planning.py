"""Judges all tickets of a file before any is written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Final

from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    ERASED,
    REASONS,
    STATUS,
    TIMES,
)
from ticket_numbering.contract.events import ticket_key
from ticketctl.aws.items import ledger_item
from ticketctl.aws.rate_limiter import RateLimiter
from ticketctl.aws.stack import System
from ticketctl.aws.table_reader import TableReader
from ticketctl.aws.tickets import around_each, records_of
from ticketctl.cli.output import program
from ticketctl.importing.existing import Existing, Tickets
from ticketctl.importing.judging import ALREADY, UNRECORDED, Judge, Known, Write
from ticketctl.ledger.findings import Kind
from ticketctl.ledger.item import MARKS, Item
from ticketctl.ledger.standing import Around, covers

REFUSED: Final = "refused"
MISSING: Final = "missing"
NO_RECORD: Final = "its idempotency_key has no record, or one that is not erased"

_AT_A_TIME: Final = 100


@dataclass(frozen=True)
class Judged:
    """A line, and what an import would do about it."""

    known: Known
    result: str
    """`ALREADY`, `UNRECORDED`, `MISSING`, `NO_RECORD`, or why it is refused."""
    goes_back: bool = False
    """Whether the ticket was given here."""
    unfinished: int = 0
    """The external number above it up to which a seed is to be finished first."""
    marks: tuple[str, ...] = ()
    """Arguments of the commands that set its remaining marks, once it is there."""
    has_other_time: bool = False
    """Whether the item there has another time than the line tells."""

    @property
    def ticket(self) -> Existing:
        """The ticket of the line."""
        return self.known.ticket

    @property
    def is_due(self) -> bool:
        """Whether an import writes something."""
        return self.result in {MISSING, NO_RECORD}

    @property
    def is_refused(self) -> bool:
        """Whether an import leaves it out."""
        return not self.is_due and self.result not in {ALREADY, UNRECORDED}


def judge_all(
    stack: System, judge: Judge, tickets: Tickets, limiter: RateLimiter
) -> Iterator[Judged]:
    """Yield the verdicts on the tickets, each project's highest number first.

    A project is read whole if one of its lines brings a key of its own that no record
    has; the limiter is for these reads.
    """
    reader = TableReader.of(stack, limiter=limiter)
    for project, lines in tickets.by_project().items():
        judged = [*_judge_project(stack, judge, project, lines)]
        yield from _without_rivals(reader, project, judged)


def _judge_project(
    stack: System, judge: Judge, project_id: str, lines: Mapping[int, Item]
) -> Iterator[Judged]:
    """Judge each ticket after the next one, which may confirm its hash."""
    own = [one for _, one in sorted(lines.items()) if isinstance(one, Existing)]
    following: Existing | None = None
    for end in range(len(own), 0, -_AT_A_TIME):
        some = own[max(0, end - _AT_A_TIME) : end]
        arounds = [*around_each(stack, project_id, [one.number for one in some])]
        # Read afterwards: a ticket that is there has its record by then.
        records = records_of(stack, [one.request.key for one in some])
        for line, (number, around) in zip(some[::-1], arounds[::-1], strict=True):
            before = lines.get(number - 1)
            known = Known(
                line,
                records.get(line.request.key),
                previous=before.chain if before else None,
                is_inside=bool(around.there or around.above),
                is_witnessed=bool(
                    following
                    and following.number == number + 1
                    and covers(following, line.chain)
                ),
                is_seeded=False,
            )
            judged = _judged(known, around, judge.verdict(known, around))
            yield judged
            following = line if judged.goes_back else None


def _judged(known: Known, around: Around, verdict: Write | str) -> Judged:
    """Return a verdict without the items, for a file may have many lines."""
    marks = tuple(_marks_left(known.ticket, verdict, around))
    own, there = known.ticket, around.there
    if isinstance(verdict, str):
        has_other_time = (
            there is not None
            and ASSIGNED_AT in own.fields
            and there.fields.get(ASSIGNED_AT) != own.assigned_at
        )
        return Judged(Known(own), verdict, marks=marks, has_other_time=has_other_time)
    result = MISSING if verdict.ticket else NO_RECORD
    nearest = around.there or around.above
    is_open = verdict.is_external and around.hole is Kind.UNFINISHED_SEED
    unfinished = nearest.number if nearest and is_open else 0
    return Judged(known, result, not verdict.is_external, unfinished, marks)


def _marks_left(line: Existing, verdict: Write | str, around: Around) -> Iterator[str]:
    """Yield the commands for the marks that a ticket will not have.

    An erased ticket may have been voided before, and takes no other mark.
    """
    has = around.there.fields if around.there else {}
    if isinstance(verdict, Write) and verdict.ticket:
        has = verdict.ticket
    if has.get(STATUS) == ERASED:
        return
    for status, verb in MARKS.items():
        is_marked = status == line.status or TIMES[status] in line.fields
        if is_marked and TIMES[status] not in has:
            reason = str(line.fields.get(REASONS[status]))
            shown = quote(reason) if reason.isprintable() else "..."
            # Pasted lines must not answer one another's questions.
            yield f"{verb} {quote(line.ticket_key)} --reason {shown} --yes"


def _without_rivals(
    reader: TableReader, project_id: str, judged: Sequence[Judged]
) -> Iterator[Judged]:
    """Refuse to record keys that another ticket has, too.

    A key that the import made is nobody else's.
    """
    numbers: dict[str | None, int] = {}
    for one in judged:
        if one.is_due and not one.known.record and one.ticket.has_own_key:
            # Of two lines the later takes the record: the other's time was over.
            key, number = one.ticket.idempotency_key, one.ticket.number
            numbers[key] = max(number, numbers.get(key, 0))
    rivals: dict[str | None, str] = {}
    for page in reader.project(project_id) if numbers else ():
        for there in map(ledger_item, page):
            own = there.idempotency_key
            if numbers.get(own, there.number) != there.number:
                rivals[own] = there.ticket_key
    for one in judged:
        key, number = one.ticket.idempotency_key, one.ticket.number
        later = numbers.get(key, number)
        if rival := rivals.get(key):
            why = f"{rival} has the same idempotency_key; see: {program} audit"
            yield Judged(Known(one.ticket), why)
        elif one.is_due and later > number:
            why = f"its idempotency_key is that of {ticket_key(project_id, later)}"
            yield Judged(Known(one.ticket), why)
        else:
            yield one
