"""Compares a file with the items that are there: is it of the same history?

A file of another stack can have the same project and numbers, and its tickets must not
continue this one's sequence.
"""

from collections.abc import Mapping

from ticket_numbering.contract.events import ticket_key
from ticketctl.aws.items import ledger_item
from ticketctl.aws.table_reader import TableReader
from ticketctl.ledger.chain import covered_before, own_commitment
from ticketctl.ledger.item import Item, Reserved, Ticket


def problem_of(
    reader: TableReader, project_id: str, items: Mapping[int, Item]
) -> str | None:
    """Return why a file's items are not of the history that the table has.

    The items are in ascending order, and the table has some of the project.
    """
    is_tied, has_tickets, highest = False, False, None
    for page in reader.project(project_id):
        for there in map(ledger_item, page):
            own = items.get(there.number)
            if own is not None and not _agree(own, there):
                key = ticket_key(project_id, there.number)
                return f"from {key} on it is another history: nothing goes back"
            is_tied |= own is not None and _is_tie(own, there)
            has_tickets |= isinstance(there, Ticket)
            highest = there
    if is_tied or highest is None or _goes_on(items, highest):
        return None
    if not has_tickets and highest.number == max(items):
        return None  # The seed of a restore that was interrupted.
    return (
        "nothing shows that it is of the same history: no number that both have, and "
        "no ticket that covers the last one here"
    )


def _agree(own: Item, there: Item) -> bool:
    """Return whether one number can have both: marks and texts may differ."""
    if isinstance(there, Reserved) or isinstance(own, Reserved):
        return not (own.chain and there.chain) or own.chain == there.chain
    if own.chain and there.chain:
        return own.chain == there.chain
    return own.idempotency_key == there.idempotency_key


def _is_tie(own: Item, there: Item) -> bool:
    """Return whether a number that both have shows that they are of one history."""
    if isinstance(own, Ticket) and isinstance(there, Ticket):
        # An earlier import may have taken the hash away.
        is_degraded = not there.chain and own.fingerprint == there.fingerprint
        if is_degraded and own.key == there.key:
            return True
    if own.chain or there.chain:
        return own.chain == there.chain
    if isinstance(own, Reserved):  # The time and the caller of a seed are its own.
        return dict(own.fields) == dict(there.fields)
    return own.idempotency_key == there.idempotency_key


def _goes_on(items: Mapping[int, Item], highest: Item) -> bool:
    """Return whether the ticket behind the highest item covers its hash."""
    following = items.get(highest.number + 1)
    if not isinstance(following, Ticket) or not highest.chain:
        return False
    before = covered_before(following, own_commitment(following), highest.chain)
    return before == highest.chain
