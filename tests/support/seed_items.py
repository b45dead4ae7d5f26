"""Items written past the worker."""

from collections.abc import Sequence
from typing import Any

from tests.support.builders import ASSIGNED_AT
from ticket_numbering.allocation.block import Block, NewTicket
from ticket_numbering.contract import dynamodb_items
from ticket_numbering.contract.dynamodb_items import (
    EXTERNAL,
    ORIGIN,
    RESERVED,
    RESERVED_UP_TO,
)
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import (
    Assignment,
    CreateTicket,
    stored_fingerprint,
)
from ticketctl.aws.items import plain, serialized

Item = dict[str, dict[str, Any]]


def ticket_item(project_id: str, number: object, key: str | None, **more: str) -> Item:
    """Return a ticket's item; without a key a reserved one, which has no text."""
    texts = more
    if key is not None:
        texts = {
            "idempotency_key": key,
            "title": f"Ticket {number}",
            "priority": "medium",
            "assigned_at": "2026-11-21T05:53:00.123Z",
        } | more
    return {
        "project_id": {"S": project_id},
        "number": {"N": str(number)},
        **{name: {"S": text} for name, text in texts.items()},
    }


def key_item(project_id: str, number: object, key: str, /, **more: str) -> Item:
    return {
        "id": {"S": f"{project_id}#{key}"},
        "project_id": {"S": project_id},
        "idempotency_key": {"S": key},
        "number": {"N": str(number)},
        "fingerprint": {"S": _fingerprint(project_id, number, key)},
        "assigned_at": {"S": "2026-11-21T05:53:00.123Z"},
        **{name: {"S": text} for name, text in more.items()},
    }


def block_items(block: Block) -> list[Item]:
    """Return the items of a block's tickets and keys, as the worker writes them."""
    return [
        serialized(fields)
        for request, assignment, salt in block.tickets
        for fields in (
            dynamodb_items.ticket_item(request, assignment, salt),
            dynamodb_items.key_item(request.key, assignment, None),
        )
    ]


def imported_items(requests: Sequence[CreateTicket], first: int = 1) -> list[Item]:
    """Return the items of tickets and keys, as an import writes them."""
    tickets = [
        NewTicket(request, Assignment(number, request.fingerprint, ASSIGNED_AT), "")
        for number, request in enumerate(requests, first)
    ]
    items = block_items(Block(requests[0].project_id, Head(), tickets))
    marks = serialized({ORIGIN: EXTERNAL})
    return [item if "id" in item else item | marks for item in items]


def reserved_item(project_id: str, number: int, up_to: int) -> Item:
    """Return a number that a seed up to another one reserved."""
    marks = {"status": RESERVED, ORIGIN: EXTERNAL}
    item = ticket_item(project_id, number, None, **marks)
    return item | {RESERVED_UP_TO: {"N": str(up_to)}}


def sequence(
    project_id: str, *numbers: int, start: str = "key", **more: str
) -> list[Item]:
    """Return tickets of these numbers, and the records of their keys."""
    return [
        item
        for number in numbers
        for item in (
            ticket_item(project_id, number, f"{start}-{number}", **more),
            key_item(project_id, number, f"{start}-{number}"),
        )
    ]


def _fingerprint(project_id: str, number: object, key: str) -> str:
    """Return that of the ticket of these, if a request can have them."""
    return stored_fingerprint(plain(ticket_item(project_id, number, key)))
