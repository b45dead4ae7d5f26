"""The rules of the hash chain, for a ticket and the item before it."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from ticket_numbering.contract.chain import CHAIN_VERSION, chain_of, commitment_of
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    ATTRIBUTES,
    COMMITMENT,
    COVERED,
    ERASED,
    MARKED,
    SALT,
    VOIDED,
)
from ticket_numbering.contract.messages import CONTENT_DEFAULTS
from ticketctl.ledger.findings import FindingKind, TicketProblem, Unfit
from ticketctl.ledger.item import Ticket

ERASED_TITLE: Final = "erased"

_TEXT: Final = CONTENT_DEFAULTS.keys() - {"project_id", "idempotency_key"} | {SALT}
"""The attributes of a ticket's text; an erasure removes all but two of them."""

KEPT: Final = ATTRIBUTES - _TEXT | {"title", "priority"}
"""The attributes that an erased ticket keeps; it loses all others, known or not."""

_EXPLAINED: Final[Mapping[str | None, AbstractSet[str]]] = {
    VOIDED: COVERED | MARKED[VOIDED],
    ERASED: COVERED | MARKED[VOIDED] | MARKED[ERASED] | {COMMITMENT},
}
"""The attributes that each status adds to a chained ticket."""


def chain_problem(ticket: Ticket, before: str) -> Unfit | None:
    """Return the problem of a ticket's hash; None if content and chain fit."""
    covered = covered_before(ticket, own_commitment(ticket), before)
    if covered is not None:
        return None if covered == before else FindingKind.RESTARTED
    version, _, _ = ticket.chain.partition(":")
    is_later = bool(ticket.chain) and version != CHAIN_VERSION
    is_unknown = not ticket.is_erased and has_unknown_attributes(ticket)
    return FindingKind.NOT_VERIFIABLE if is_later or is_unknown else FindingKind.CHANGED


def covered_before(ticket: Ticket, commitment: str | None, before: str) -> str | None:
    """Return the previous hash that a ticket's hash covers; None if none fits.

    It is that of the number before it, or "" at the start of a segment.
    """
    key, assigned_at = ticket.idempotency_key, text_of(ticket, ASSIGNED_AT)
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
    """Return the commitment to a ticket's stored text; None if it has none."""
    if ticket.is_erased:
        return text_of(ticket, COMMITMENT)
    return commitment_to(ticket, ticket.fingerprint)


def commitment_to(ticket: Ticket, fingerprint: str | None) -> str | None:
    """Return a ticket's commitment to a fingerprint; None if one of them is lost."""
    salt = text_of(ticket, SALT)
    return commitment_of(salt, fingerprint) if salt and fingerprint else None


def has_unknown_attributes(ticket: Ticket) -> bool:
    """Return whether the ticket has an attribute that this release does not know."""
    return not ticket.fields.keys() <= ATTRIBUTES


def is_uncovered(ticket: Ticket) -> bool:
    """Return whether it has attributes that neither hash nor status accounts for."""
    return not ticket.fields.keys() <= _EXPLAINED.get(ticket.status, COVERED)


def of_erased(ticket: Ticket) -> Iterator[TicketProblem]:
    """Yield the problem of an erased ticket with text, or with an unknown attribute."""
    left = ticket.fields.keys() - KEPT
    if ticket.fields.get("title") != ERASED_TITLE or left & _TEXT:
        yield FindingKind.ERASED_WITH_TEXT
    elif left:
        yield FindingKind.NOT_VERIFIABLE


def text_of(ticket: Ticket, name: str) -> str | None:
    """Return an attribute of a ticket; None if it is no text."""
    value = ticket.fields.get(name)
    return value if isinstance(value, str) else None
