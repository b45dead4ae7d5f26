"""Reads a project's tickets consistently: by number, or with their neighbours.

An item that another program put between two numbers hides neither.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from ticket_numbering.contract.dynamodb_items import ticket_id
from ticket_numbering.contract.field_types import is_project_id
from ticket_numbering.contract.messages import RequestKey
from ticketctl.aws.items import ledger_item
from ticketctl.aws.retry import RateLimiter
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.table_reader import RawItem, TableReader
from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.ledger.item import Item
from ticketctl.ledger.standing import Neighbours

_PAGE: Final = 100
_KEY_NUMBER: Final = re.compile("0{0,64}([1-9][0-9]{0,18})")


def parse_ticket_key(ticket_key: str) -> tuple[str, int]:
    """Return project and number; the project may have hyphens, the number zeros.

    Raises:
        InputError: The text is no ticket key.
    """
    project_id, _, number = ticket_key.rpartition("-")
    match = _KEY_NUMBER.fullmatch(number)
    if not (match and is_project_id(project_id)):
        raise InputError(f"no ticket key: {ticket_key!r}; one looks like PROJ-42")
    return project_id, int(match[1])


def get_ticket(stack: StackAccess, project_id: str, number: int) -> Item | None:
    """Return the project's item of a number, if it exists."""
    answer = stack.client("dynamodb").get_item(
        TableName=stack.outputs["TicketsTableName"],
        Key=ticket_id(project_id, number),
        ConsistentRead=True,
    )
    return ledger_item(answer["Item"]) if "Item" in answer else None


def find_ticket(stack: StackAccess, project_id: str, number: int) -> Item:
    """Return a ticket.

    Raises:
        NotThereError: The ticket does not exist.
    """
    ticket = get_ticket(stack, project_id, number)
    if ticket is None:
        raise NotThereError(
            f"there is no ticket {project_id}-{number}; "
            f"see the latest with: {stack.program} list {project_id}"
        )
    return ticket


def records_of(
    stack: StackAccess, keys: Iterable[RequestKey], limiter: RateLimiter | None = None
) -> dict[RequestKey, RawItem]:
    """Return the existing records of idempotency keys."""
    return dict(_reader(stack, limiter).records(keys))


def last_number(stack: StackAccess, project_id: str) -> int:
    """Return the project's highest number; 0 if it has none."""
    items = _read(_reader(stack), project_id, "> :0", 0, 1, ScanIndexForward=False)
    return next((item.number for item in items), 0)


def tickets_below(
    stack: StackAccess, project_id: str, number: int, page: int = _PAGE
) -> Iterator[Item]:
    """Yield the project's items below a number, the highest first."""
    return _read(
        _reader(stack), project_id, "< :0", number, page, ScanIndexForward=False
    )


def tickets_above(stack: StackAccess, project_id: str, number: int) -> Iterator[Item]:
    """Yield the project's items above a number, the lowest first."""
    return _read(_reader(stack), project_id, "> :0", number, _PAGE)


def around_each(
    stack: StackAccess,
    project_id: str,
    numbers: Iterable[int],
    page: int = _PAGE,
    limiter: RateLimiter | None = None,
) -> Iterator[tuple[int, Neighbours]]:
    """Yield each number with its neighbours, the lowest first; read in pages."""
    reader = _reader(stack, limiter)
    read: list[Item] = []
    is_end = False
    for number in sorted(numbers):
        is_inside = read and read[0].number < number < read[-1].number
        if not (is_inside or is_end):
            lower = _read(reader, project_id, "< :0", number, 1, ScanIndexForward=False)
            here = [*islice(_read(reader, project_id, ">= :0", number, page), page)]
            nearest = islice((item for item in lower if item.has_number), 1)
            read = [*nearest, *(item for item in here if item.has_number)]
            is_end = not here
        index = bisect_left(read, number, key=lambda item: item.number)
        below = read[index - 1] if index else None
        there, above = (*read[index : index + 2], None, None)[:2]
        if there and there.number != number:
            there, above = None, there
        yield number, Neighbours(below, there, above)


def _reader(stack: StackAccess, limiter: RateLimiter | None = None) -> TableReader:
    return TableReader.of(stack, limiter=limiter or RateLimiter())


def _read(
    reader: TableReader,
    project_id: str,
    side: str,
    number: int,
    page: int,
    **request: Any,
) -> Iterator[Item]:
    for items in reader.project(project_id, side, number, Limit=page, **request):
        yield from map(ledger_item, items)
