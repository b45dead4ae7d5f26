"""What the tables have of a project: is the file of its history, and where does it end?

Of another stack's project of the same name nothing may go back.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from ticket_numbering.contract.dynamodb_items import RESERVED_AFTER
from ticket_numbering.contract.events import ticket_key
from ticketctl.ledger.agreement import explains
from ticketctl.ledger.chain import chain_problem, covered_before, own_commitment
from ticketctl.ledger.findings import FindingKind
from ticketctl.ledger.item import Item, ItemKind, Ticket
from ticketctl.ledger.sequence import hole
from ticketctl.restore.comparison import agree, is_tie
from ticketctl.restore.database import Database
from ticketctl.restore.deeds import is_mark
from ticketctl.restore.planning import Outline

_UNTIED: Final = (
    "nothing shows that it is of the same history: no number that both have, and no "
    "ticket that covers the last one here"
)


class KnownHash(Protocol):
    """A head: the hash that a ticket had, as it was kept."""

    @property
    def project_id(self) -> str:
        """The project."""

    @property
    def number(self) -> int:
        """The ticket's number."""

    @property
    def chain(self) -> str:
        """Its hash."""


def outline_of(database: Database, project_id: str) -> Outline:
    """Return what the tables have of a project, beside the file."""
    outline = Outline(
        project_id,
        database.last(project_id, is_own=False),
        database.last(project_id, is_own=True),
    )
    outline.is_whole = _is_whole(database, outline)
    if outline.is_whole:
        return outline
    is_tied = database.shares(project_id) or not database.has_tickets(project_id)
    for number in database.differing(project_id):
        slot = database.slot(project_id, number)
        if slot.own and slot.there:
            is_tied |= is_tie(slot.own, slot.there)
            if not agree(slot.own, slot.there):
                outline.other = number
                break
    outline.is_tied = is_tied or _goes_on(database, outline)
    return outline


def _is_whole(database: Database, outline: Outline) -> bool:
    """Return whether the tables have nothing but what a restore has put back."""
    project_id, top = outline.project_id, outline.highest
    if not top:
        return False
    there = database.slot(project_id, top).there
    # A restore among other tickets has left a mark, too, that says what was there.
    has_mark = bool(there and is_mark(there) and not there.fields.get(RESERVED_AFTER))
    for number in (
        *database.differing(project_id),
        *database.only_there(project_id, top),
    ):
        if not is_mark(database.slot(project_id, number).there):
            return False
    is_begun = outline.last > 0
    if is_begun and not has_mark:  # A finished restore, or another's work.
        return False
    for record in database.records(project_id, is_own=False):
        slot = database.slot(project_id, record.number)
        is_new = record.number > top
        if not (is_new or (slot.is_same and explains(slot.own, record))):
            return False
    return True


def _goes_on(database: Database, outline: Outline) -> bool:
    """Return whether the file's next ticket covers the hash of the tables' last one."""
    there = database.slot(outline.project_id, outline.last).there
    following = database.slot(outline.project_id, outline.last + 1).own
    return there is not None and _covers(following, there)


def _covers(following: Item | None, there: Item) -> bool:
    if not (isinstance(following, Ticket) and there.chain):
        return False
    before = covered_before(following, own_commitment(following), there.chain)
    return before == there.chain


def close(database: Database, outline: Outline, *, is_part: bool) -> None:
    """Find the end of what goes back, before a hole that neither has.

    What a whole file lacks in a project that is empty comes along.
    """
    project_id, last = outline.project_id, outline.last
    if not (outline.is_whole or outline.is_tied or database.is_vouched(project_id)):
        outline.refusal = _UNTIED if database.counts(project_id)["due"] else ""
        database.let_wait(project_id, 0)
        return
    below: ItemKind | None = None
    at = 0
    if last:
        slot = database.slot(project_id, last)
        item = slot.own if slot.own and is_mark(slot.there) else slot.there
        at, below = last, item.kind if item else None
    may_lack = outline.is_whole and not is_part
    for number, kind in database.rising(project_id, last):
        if number > at + 1 and hole(below, kind) and not may_lack:
            outline.hole = at + 1, number - 1
            database.let_wait(project_id, number)
            break
        at, below = number, kind
    outline.end = at if at > last else 0


def waiting(outline: Outline) -> str:
    """Return why the numbers behind a hole wait."""
    assert outline.hole  # noqa: S101 - Asked for by who has seen it.
    first, last = (ticket_key(outline.project_id, number) for number in outline.hole)
    of, verb = (first, "is") if first == last else (f"{first} to {last}", "are")
    return f"{of} {verb} missing and not coming back, so the numbers above wait"


def failing_heads(database: Database, heads: Iterable[KnownHash]) -> Iterator[str]:
    """Yield how the file differs from heads that were kept outside.

    One above the file's last number, or of another project, says nothing.
    """
    for head in heads:
        project_id, number = head.project_id, head.number
        if number > database.last(project_id, is_own=True):
            continue
        own = database.slot(project_id, number).own
        before = database.slot(project_id, number - 1).own
        key = ticket_key(project_id, number)
        if own is None or own.chain != head.chain:
            yield f"{key}: the file has another hash than the head that was kept"
        elif isinstance(own, Ticket):
            fit = chain_problem(own, before.chain if before else "")
            if fit not in {None, FindingKind.RESTARTED}:
                yield f"{key}: its content does not have the hash that was kept"
