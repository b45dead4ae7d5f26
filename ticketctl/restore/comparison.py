"""Compares an item of the file with that of the tables: are both of one history?

A file of another stack can have the same project and numbers, but its tickets must not
continue this sequence.
"""

from collections.abc import Iterator
from shlex import quote

from ticket_numbering.contract.dynamodb_items import (
    ERASED,
    ORIGIN,
    REASONS,
    STATUS,
    TIMES,
)
from ticketctl.ledger.item import MARKS, Item, ItemKind, Malformed, Reserved, Ticket
from ticketctl.ledger.sequence import is_given_here
from ticketctl.restore.steps import is_mark


def gives_way(own: Item, there: Item) -> bool:
    """Return whether the file's item may replace the tables' item."""
    if not isinstance(own, Ticket):
        is_bare = isinstance(there, Reserved) and not there.chain
        is_lost = own.kind is ItemKind.LOST  # No other item has its hash.
        return (is_lost and is_bare) or (is_mark(there) and there.chain == own.chain)
    if there.kind is ItemKind.LOST:
        return own.chain == there.chain and is_given_here(own.kind)
    if isinstance(there, Reserved):
        return True
    is_degraded = isinstance(there, Ticket) and ORIGIN in there.fields
    is_of_request = (
        isinstance(there, Ticket)
        and (there.key == own.key)
        and (there.fingerprint == own.fingerprint or there.is_erased)
    )
    is_better = bool(own.chain) and is_given_here(own.kind) and not there.chain
    return is_degraded and is_of_request and is_better


def agree(own: Item, there: Item) -> bool:
    """Return whether both items are of one history; marks and texts may differ."""
    if isinstance(there, Malformed):
        return True  # A note names it, and it stays.
    if own.chain and there.chain:
        return own.chain == there.chain
    if isinstance(there, Reserved) or isinstance(own, Reserved):
        return True
    return own.idempotency_key == there.idempotency_key


def is_tie(own: Item, there: Item) -> bool:
    """Return whether two items of a number prove that both are of one history."""
    if own.chain and own.chain == there.chain:
        return True
    return (  # An earlier import may have removed the hash.
        isinstance(own, Ticket)
        and isinstance(there, Ticket)
        and own.key == there.key
        and own.fingerprint == there.fingerprint
    )


def difference(own: Item, there: Item) -> str:
    """Return the difference of a kept item from the file's; "" if only in marks."""
    match own, there:
        case _, Malformed():
            return "another program's item has this number"
        case Ticket(), Reserved():
            return "a lost ticket with another hash has this number"
        case Reserved(), Ticket():
            is_healed = bool(own.chain) and own.chain == there.chain
            return "" if is_healed else "a ticket has this number here"
    names = sorted(_differing(own, there))
    return f"it is here with another {', '.join(names)}" if names else ""


def _differing(own: Item, there: Item) -> Iterator[str]:
    """Yield the differing attributes that no command but an erasure changes."""
    is_erased = ERASED in (own.status, there.status)
    texts = {item.fingerprint for item in (own, there) if isinstance(item, Ticket)}
    if len(texts) > 1 and not is_erased:
        yield "text"
    names = ["idempotency_key", "assigned_at"]
    if ORIGIN not in there.fields:  # Else an earlier restore removed the hash.
        names += ["chain", ORIGIN] if is_erased else ["chain", "salt", ORIGIN]
    for name in names:
        if own.fields.get(name) != there.fields.get(name):
            yield name


def marks_left(own: Item, there: Item) -> Iterator[str]:
    """Yield the commands for the marks of the file that a ticket lacks.

    An erased ticket takes no other mark, even if it was voided before. The ticket of
    another request takes none: an erasure cannot be undone.
    """
    is_same = isinstance(there, Ticket) and agree(own, there)
    if there.fields.get(STATUS) == ERASED or not is_same:
        return
    for status, verb in MARKS.items():
        is_marked = status == own.status or TIMES[status] in own.fields
        if is_marked and isinstance(own, Ticket) and TIMES[status] not in there.fields:
            reason = str(own.fields.get(REASONS[status]))
            shown = quote(reason) if reason.isprintable() else "..."
            # A pasted line must not answer the question of another.
            yield f"{verb} {quote(own.ticket_key)} --reason {shown} --yes"
