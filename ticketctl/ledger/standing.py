"""Judges whether an item may have a number, by its neighbours."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from ticket_numbering.contract.dynamodb_items import ASSIGNED_AT
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.head import Head
from ticketctl.ledger.chain import (
    covered_before,
    has_unknown_attributes,
    own_commitment,
)
from ticketctl.ledger.findings import FindingKind
from ticketctl.ledger.item import Item, Ticket
from ticketctl.ledger.sequence import SequenceCheck, hole

_NOT_FITTING: Final = "its hash does not fit its content and the ticket before it"
OF_CONTENT: Final = {
    FindingKind.ERASED_WITH_TEXT: "it is erased, and has text: erase it again",
    FindingKind.NOT_VERIFIABLE: "it has attributes that this ticketctl does not know",
    FindingKind.CHAINED_EXTERNAL: _NOT_FITTING,
    FindingKind.CHANGED: _NOT_FITTING,
}
"""The findings about content that make a ticket untrusted; the first one counts."""


class Neighbours(NamedTuple):
    """The items around a number."""

    below: Item | None
    """The nearest item below it."""
    there: Item | None
    above: Item | None
    """The nearest item above it."""

    @property
    def hole(self) -> FindingKind | None:
        """The finding about missing numbers above the item below.

        None if no number is missing, or the items explain it.
        """
        following = self.there or self.above
        below = self.below.number if self.below else 0
        if following is None or following.number == below + 1:
            return None
        return hole(self.below.kind if self.below else None, following.kind)


def covers(item: Item | None, previous: str) -> bool:
    """Return whether a ticket's hash covers this previous hash."""
    if not isinstance(item, Ticket):
        return False
    return covered_before(item, own_commitment(item), previous) == previous


def problem_of(
    ticket: Ticket, previous: str | None, *, is_vouched: bool = False
) -> str:
    """Return the reason why a ticket cannot vouch for a record; "" if it can.

    If the hash of the number before is unknown, another item may vouch for its own.
    """
    if not isinstance(ticket.fields.get(ASSIGNED_AT), str):
        return "it has no date"
    check = SequenceCheck()
    if previous is not None:
        check.before = Head(ticket.number - 1, chain=previous)
    check.follow(ticket)
    before = ticket_key(ticket.project_id, ticket.number - 1)
    if words := _words(check.runs, is_unknown=has_unknown_attributes(ticket)):
        is_bare = (
            FindingKind.CHANGED in check.runs and previous == "" and ticket.number > 1
        )
        return f"{words}, {before}, which has no hash" if is_bare else words
    if check.unlinked and not is_vouched:
        return f"{before}, the ticket before it, is missing here and in this file"
    return ""


def _words(of_ticket: Iterable[FindingKind], *, is_unknown: bool) -> str:
    kinds = {*of_ticket, FindingKind.NOT_VERIFIABLE} if is_unknown else {*of_ticket}
    return next((words for kind, words in OF_CONTENT.items() if kind in kinds), "")
