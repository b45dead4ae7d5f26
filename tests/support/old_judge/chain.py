"""The rules of the hash chain, for a ticket and the item before it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tests.support.old_judge.items import Ticket
from ticket_numbering.contract.chain import (
    CHAIN_VERSION,
    MAX_AHEAD,
    chain_of,
    commitment_of,
)
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    ATTRIBUTES,
    CHAIN,
    COMMITMENT,
    COVERED,
    ERASED,
    MARKED,
    ORIGIN,
    SALT,
    VOIDED,
)
from ticket_numbering.contract.field_types import moment_of
from ticket_numbering.contract.messages import CONTENT_DEFAULTS
from ticketctl.ledger.findings import Kind, Range

ERASED_TITLE: Final = "erased"

_TEXT: Final = CONTENT_DEFAULTS.keys() - {"project_id", "idempotency_key"} | {SALT}
"""The attributes that a ticket loses when it is erased, but for two."""

KEPT: Final = ATTRIBUTES - _TEXT | {"title", "priority"}
"""The attributes that an erased ticket keeps; all others go, known or not."""

_EXPLAINED: Final[Mapping[str | None, set[str]]] = {
    VOIDED: MARKED[VOIDED],
    ERASED: MARKED[VOIDED] | MARKED[ERASED] | {COMMITMENT},
}
"""The attributes that a chained ticket has for its status; no other status has any."""

_JUDGED: Final = {Kind.CHANGED, Kind.NOT_VERIFIABLE}


class Link(NamedTuple):
    """An item, as far as the ticket after it depends on it."""

    number: int = 0
    chain: str = ""
    """"" if it has none."""
    assigned_at: str = ""
    """"" if it is external, or no text."""


def link_of(item: Ticket) -> Link:
    """Return the item as the ticket after it depends on it."""
    assigned_at = None if ORIGIN in item.fields else _text(item, ASSIGNED_AT)
    return Link(item.number, item.chain, assigned_at or "")


def problems(ticket: Ticket, before: Link, fit: Kind | None) -> Iterator[Kind]:
    """Yield the problems of a ticket; none if it is malformed or reserved.

    A date that runs against the one before it is a problem of either ticket. Without an
    item of the number before it, the link is empty.

    Args:
        ticket: The ticket.
        before: The item before it.
        fit: Why its hash does not fit, if it does not.
    """
    if ticket.is_malformed or ticket.idempotency_key is None:
        return
    if ticket.status == ERASED:
        yield from of_erased(ticket)
    if CHAIN not in ticket.fields:
        return
    if ORIGIN in ticket.fields:
        yield Kind.CHAINED_EXTERNAL
    elif _is_uncovered(ticket):
        yield Kind.NOT_VERIFIABLE
    # Dates of the one form that the worker writes sort as texts.
    date = _text(ticket, ASSIGNED_AT)
    if date is not None and date < before.assigned_at:
        yield Kind.MISDATED
    if fit:
        yield fit


def chain_problem(ticket: Ticket, before: Link) -> Kind | None:
    """Return why a ticket's hash is not that of its content and the hash before it."""
    covered = covered_before(ticket, own_commitment(ticket), before.chain)
    if covered is not None:
        return None if covered == before.chain else Kind.RESTARTED
    version, _, _ = ticket.chain.partition(":")
    is_later = bool(ticket.chain) and version != CHAIN_VERSION
    is_unknown = ticket.status != ERASED and has_unknown_attributes(ticket)
    return Kind.NOT_VERIFIABLE if is_later or is_unknown else Kind.CHANGED


def covered_before(ticket: Ticket, commitment: str | None, before: str) -> str | None:
    """Return the hash before a ticket that its own hash covers; None if it covers none.

    Args:
        ticket: The ticket.
        commitment: The commitment to its text; None if it has none.
        before: The hash of the number before it; a segment starts with "".
    """
    key, assigned_at = ticket.idempotency_key, _text(ticket, ASSIGNED_AT)
    if key and commitment and assigned_at:
        for previous in (before, ""):
            chain = chain_of(
                previous,
                project_id=ticket.project_id,
                number=ticket.number,
                idempotency_key=key,
                commitment=commitment,
                assigned_at=assigned_at,
            )
            if chain == ticket.chain:
                return previous
    return None


def own_commitment(ticket: Ticket) -> str | None:
    """Return the commitment to a ticket's text, as it stands; None if it has none."""
    if ticket.status == ERASED:
        return _text(ticket, COMMITMENT)
    return commitment_to(ticket, ticket.fingerprint)


def commitment_to(ticket: Ticket, fingerprint: str | None) -> str | None:
    """Return a ticket's commitment to a fingerprint; None if one of them is lost."""
    salt = _text(ticket, SALT)
    return commitment_of(salt, fingerprint) if salt and fingerprint else None


def has_unknown_attributes(ticket: Ticket) -> bool:
    """Return whether the text may have a field that this release does not know."""
    return not ticket.fields.keys() <= ATTRIBUTES


def _is_uncovered(ticket: Ticket) -> bool:
    """Return whether it says more than its hash covers, and its status explains."""
    return not ticket.fields.keys() <= COVERED | _EXPLAINED.get(ticket.status, set())


def of_erased(ticket: Ticket) -> Iterator[Kind]:
    """Yield the problem of an erased ticket that has more than it keeps."""
    left = ticket.fields.keys() - KEPT
    if ticket.fields.get("title") != ERASED_TITLE or left & _TEXT:
        yield Kind.ERASED_WITH_TEXT
    elif left:
        yield Kind.NOT_VERIFIABLE


def _text(ticket: Ticket, name: str) -> str | None:
    value = ticket.fields.get(name)
    return value if isinstance(value, str) else None


@dataclass
class ChainCheck:
    """Follows a project's items in ascending order, and keeps runs of suspects.

    Of all items it keeps the last one's link, so its memory grows with the runs alone.
    """

    before: Link = field(default_factory=Link)
    runs: dict[Kind, list[Range]] = field(default_factory=lambda: defaultdict(list))
    """The first and the last number of tickets with a problem, by its kind."""
    is_behind_gap: bool = False
    """Whether the number before the last item's is missing."""
    is_out_of_order: bool = False
    """Whether an item came late: DynamoDB promises no order of a scan."""

    def follow(self, item: Ticket) -> bool:
        """Take the next item; return whether its text is for the chain to judge.

        A changed text counts once, and not as a difference from the key's record too.
        """
        if item.number <= self.before.number:
            self.is_out_of_order = True
            return False
        is_next = item.number == self.before.number + 1
        before = self.before if is_next else Link()
        has_hash = CHAIN in item.fields and item.idempotency_key is not None
        fit = chain_problem(item, before) if has_hash else None
        for kind in problems(item, before, fit):
            self._add(kind, self._place_of(kind, item))
        self.before, self.is_behind_gap = link_of(item), not is_next
        return is_next and fit in _JUDGED

    def suspects(self) -> Iterator[tuple[Kind, Range]]:
        """Yield the runs."""
        for kind, runs in self.runs.items():
            for ends in runs:
                yield kind, ends

    def _place_of(self, kind: Kind, item: Ticket) -> int:
        """Return the number that a problem names: the item's, or the one before it.

        Of two dates in the wrong order the first is wrong if no worker writes its form,
        or follows a date so far ahead.
        """
        if kind is not Kind.MISDATED:
            return item.number
        date = moment_of(self.before.assigned_at)
        after = moment_of(item.fields.get(ASSIGNED_AT))
        is_wrong = date is None or (after is not None and date - after > MAX_AHEAD)
        return item.number - is_wrong

    def _add(self, kind: Kind, number: int) -> None:
        runs = self.runs[kind]
        if runs and number - runs[-1][1] <= 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
