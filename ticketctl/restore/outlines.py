"""Outlines a project: is the file of its history, and where does the restore end?

Nothing of another stack's project of the same name may be restored.
"""

from dataclasses import dataclass, field
from typing import Final

from ticket_numbering.contract.dynamodb_items import RESERVED_AFTER
from ticket_numbering.contract.events import ticket_key
from ticketctl.ledger.agreement import explains
from ticketctl.ledger.findings import Finding
from ticketctl.ledger.sequence import hole
from ticketctl.ledger.standing import covers
from ticketctl.restore.comparison import agree, is_tie
from ticketctl.restore.database import DIFFERENT, SAME, TICKET_THERE, UNLIKE, Database
from ticketctl.restore.plan import VOUCHED
from ticketctl.restore.steps import is_mark

_UNTIED: Final = (
    "nothing shows that it is of the same history: no number that both have, and no "
    "ticket that covers the last one here"
)


@dataclass
class Outline:
    """The state of a project in the tables, compared with the file."""

    project_id: str
    last: int
    """The highest number in the tables."""
    highest: int
    """The highest number in the file."""
    is_whole: bool = False
    """Whether the tables have nothing of it, or only a part that a restore wrote."""
    other: int = 0
    """The first number of another history; 0 without one."""
    is_tied: bool = False
    """Whether a common number proves that both are of one history."""
    refusal: str = ""
    """The reason why nothing of the project is restored."""
    hole: tuple[int, int] | None = None
    """The range above the last number that stays missing; nothing is written above."""
    end: int = 0
    """The highest restored number, if it is above the last one."""
    findings: list[Finding] = field(default_factory=list)
    """The findings of the file itself, which a restore into an empty project keeps."""
    records_left: int = 0
    """The count of the file's records that are restored without an item."""
    mark: int = 0
    """The number that a restore has reserved, and restores last."""

    @property
    def top(self) -> int:
        """The highest number in the tables or in the file."""
        return max(self.last, self.highest)


def outline_of(database: Database, project_id: str) -> Outline:
    """Return the outline of a project."""
    last = database.last(project_id, is_own=False)
    outline = Outline(project_id, last, database.last(project_id, is_own=True))
    outline.is_whole = _is_whole(database, outline)
    if outline.is_whole:
        return outline
    is_tied = database.has(project_id, SAME)
    is_tied |= not database.has(project_id, TICKET_THERE)
    for number in database.numbers(project_id, DIFFERENT):
        slot = database.slot(project_id, number)
        assert slot.own and slot.there  # noqa: S101, PT018 - Two that are different.
        is_tied |= is_tie(slot.own, slot.there)
        if not agree(slot.own, slot.there):
            outline.other = number
            break
    there = database.slot(project_id, last).there
    following = database.slot(project_id, last + 1).own
    goes_on = there and there.chain and covers(following, there.chain)
    outline.is_tied = is_tied or bool(goes_on)
    return outline


def _is_whole(database: Database, outline: Outline) -> bool:
    """Return whether the tables have only items that a restore wrote, or none."""
    project_id, top = outline.project_id, outline.highest
    there = database.slot(project_id, top).there
    # A restore among other tickets has left a mark, too, with the last number before.
    is_begun = there and is_mark(there) and not there.fields.get(RESERVED_AFTER)
    if not top or (outline.last and not is_begun):  # Ended, or another's work.
        return False
    for number in database.numbers(project_id, f"{UNLIKE} AND number <= {top}"):
        if not is_mark(database.slot(project_id, number).there):
            return False
    for record in database.records.there(project_id):
        slot = database.slot(project_id, record.number)
        is_new = record.number > top
        if not (is_new or (slot.is_same and explains(slot.own, record))):
            return False
    return True


def close(database: Database, outline: Outline, *, is_part: bool) -> None:
    """Find the end of the restored numbers, before a hole that neither fills.

    In an empty project the holes of a complete file stay.
    """
    project_id, last = outline.project_id, outline.last
    if not (outline.is_whole or outline.is_tied or database.has(project_id, VOUCHED)):
        outline.refusal = _UNTIED if database.plan.counts(project_id)["due"] else ""
        database.plan.let_wait(project_id, 0)
        return
    below = None
    at = 0
    if last:
        slot = database.slot(project_id, last)
        item = slot.own if slot.own and is_mark(slot.there) else slot.there
        at, below = last, item.kind if item else None
    may_lack = outline.is_whole and not is_part
    for number, kind in database.plan.rising(project_id, last):
        if number > at + 1 and hole(below, kind) and not may_lack:
            outline.hole = at + 1, number - 1
            database.plan.let_wait(project_id, number)
            break
        at, below = number, kind
    outline.end = at if at > last else 0
    is_refused_at_end = max(at, last) < outline.highest
    if is_refused_at_end and not (outline.hole or outline.is_whole or outline.other):
        outline.hole = max(at, last) + 1, outline.highest


def waiting(outline: Outline) -> str:
    """Return why the numbers after a hole wait, or the danger of a hole at the end."""
    assert outline.hole  # noqa: S101 - The caller has checked it.
    first, last = (ticket_key(outline.project_id, number) for number in outline.hole)
    of, verb = (first, "is") if first == last else (f"{first} to {last}", "are")
    if outline.hole[1] == outline.highest:
        return f"{of} {verb} not coming back, and would be given to other requests"
    return f"{of} {verb} missing and not coming back, so the numbers above wait"
