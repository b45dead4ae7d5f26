"""Where a project's sequence stands, read consistently."""

from collections.abc import Iterator
from typing import Any, Final

from ticketctl.system.items import Ticket, ticket
from ticketctl.system.stack import System

MAX_NUMBER: Final = 10**15
"""Still exact in JSON for every reader, and far beyond any project."""

_A_PAGE: Final = 100


def last_number(stack: System, project_id: str) -> int:
    """Return the project's highest number; 0 if it has none."""
    found = _first(stack, project_id, ">", 0, ScanIndexForward=False)
    return found.number if found else 0


def highest_below(stack: System, project_id: str, number: int) -> Ticket | None:
    """Return the project's item of the highest number below that one."""
    return _first(stack, project_id, "<", number, ScanIndexForward=False)


def item_from(stack: System, project_id: str, number: int) -> Ticket | None:
    """Return the project's item of that number, or else the next above it."""
    return _first(stack, project_id, ">=", number)


def item_at(stack: System, project_id: str, number: int) -> Ticket | None:
    """Return the project's item of that number."""
    answer = stack.client("dynamodb").get_item(
        TableName=stack.outputs["TicketsTableName"],
        Key={"project_id": {"S": project_id}, "number": {"N": str(number)}},
        ConsistentRead=True,
    )
    return ticket(answer["Item"]) if "Item" in answer else None


def given_between(stack: System, project_id: str, low: int, high: int) -> Iterator[int]:
    """Yield the numbers between that workers gave.

    A Query may see a block half committed: what a ticket stands behind was given, too.
    """
    while page := _some(stack, project_id, ">", low, Limit=_A_PAGE):
        for item in page:
            if item.number >= high:
                return
            if not item.is_from_elsewhere:
                yield from range(low + 1, item.number + 1)
            low = item.number


def items_below(stack: System, project_id: str, number: int) -> Iterator[Ticket]:
    """Yield the project's items below that number, the highest first."""
    request = {"Limit": _A_PAGE, "ScanIndexForward": False}
    while page := _some(stack, project_id, "<", number, **request):
        yield from page
        number = page[-1].number


def _first(
    stack: System, project_id: str, side: str, number: int, **request: Any
) -> Ticket | None:
    found = _some(stack, project_id, side, number, Limit=1, **request)
    return found[0] if found else None


def _some(
    stack: System, project_id: str, side: str, number: int, **request: Any
) -> list[Ticket]:
    answer = stack.client("dynamodb").query(
        TableName=stack.outputs["TicketsTableName"],
        KeyConditionExpression=f"project_id = :project AND #number {side} :number",
        ExpressionAttributeNames={"#number": "number"},
        ExpressionAttributeValues={
            ":project": {"S": project_id},
            ":number": {"N": str(number)},
        },
        ConsistentRead=True,
        **request,
    )
    return [ticket(item) for item in answer["Items"]]
