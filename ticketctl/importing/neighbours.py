"""Compares a ticket of a file with the items around its number."""

from collections.abc import Mapping
from typing import Any, Final

from ticket_numbering.contract import dynamodb_items
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    ATTRIBUTES,
    CHAIN,
    ERASED,
    ORIGIN,
)
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.tickets import Around
from ticketctl.importing.existing import Existing
from ticketctl.ledger.chain import (
    covered_before,
    has_unknown_attributes,
    of_erased,
    own_commitment,
)
from ticketctl.ledger.findings import Kind
from ticketctl.ledger.item import Item, Reserved, Ticket
from ticketctl.ledger.sequence import explains_above, explains_below, is_given_here

ALREADY: Final = "there already"

_ADDED: Final = ATTRIBUTES - CreateTicket.model_fields.keys()
"""Attributes of a ticket that are not of its request."""


def comparison(ticket: Existing, there: Item) -> str:
    """Return `ALREADY`, or how the ticket of that number differs."""
    if isinstance(there, Reserved):
        return "a lost ticket has this number; an import would destroy its hash"
    is_own = there.idempotency_key == ticket.idempotency_key
    is_erased = is_own and ERASED in (ticket.status, there.status)
    wanted = dynamodb_items.ticket_item(ticket.request, ticket.assignment)
    if is_erased or _asked_for(there.fields) == _asked_for(wanted):
        return ALREADY
    if is_own:
        return "the ticket of this number and idempotency_key says something else"
    return "another ticket has this number"


def may_replace(ticket: Existing, place: Item) -> bool:
    """Return whether a ticket can take an item's place: a lost one's hash stays."""
    has_its_place = bool(place.fields.get(CHAIN, ticket.chain) == ticket.chain)
    return isinstance(place, Reserved) and has_its_place


def problem_of(
    ticket: Ticket, previous: str | None, *, is_vouched: bool = False
) -> str:
    """Return why a ticket cannot vouch for a record; "" if it can.

    Args:
        ticket: The ticket.
        previous: The hash of the number before it; None if nobody knows it.
        is_vouched: Whether another item vouches for its hash, if nobody knows that.
    """
    return _problem_itself(ticket) or _problem_of_hash(
        ticket, previous, is_vouched=is_vouched
    )


def _problem_itself(ticket: Ticket) -> str:
    if not isinstance(ticket.fields.get(ASSIGNED_AT), str):
        return "it has no date"
    if ticket.is_erased and Kind.ERASED_WITH_TEXT in of_erased(ticket):
        return "it is erased, and has text: erase it again"
    if has_unknown_attributes(ticket):
        return "it has what this ticketctl does not know"
    return ""


def _problem_of_hash(ticket: Ticket, previous: str | None, *, is_vouched: bool) -> str:
    if CHAIN not in ticket.fields:
        return ""
    covered = covered_before(ticket, own_commitment(ticket), previous or "")
    is_known = previous is not None
    if ORIGIN in ticket.fields or (covered is None and is_known):
        return "its hash does not fit its content and the ticket before it"
    if covered is not None or is_vouched:
        return ""
    before = ticket_key(ticket.project_id, ticket.number - 1)
    return f"{before}, the ticket before it, is missing here and in this file"


def covers(ticket: Ticket, previous: str) -> bool:
    """Return whether a ticket's own hash covers this one before it."""
    covered = covered_before(ticket, own_commitment(ticket), previous)
    return covered == previous


def is_external(number: int, around: Around, *, is_seeded: bool) -> bool:
    """Return whether the tables say that a missing number is external.

    They know the item of the number, or else the next above. Before its seed is
    finished, they will say it where no worker gave the next one above.
    """
    nearest = around.there or around.above
    if nearest is None or (explains_below(nearest.kind) and not is_seeded):
        return not is_seeded
    below = around.below
    # Right behind a seed's last number a worker may write, until the next is done.
    is_between = below is not None and explains_above(below.kind)
    following = below.number + 1 if below else 1
    if not is_given_here(nearest.kind):
        return is_between or nearest.number == number == following
    # A ticket given here that starts a segment has an external number before it.
    is_start = isinstance(nearest, Ticket) and covers(nearest, "")
    return nearest.number == number + 1 and is_start


def _asked_for(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in _ADDED}
