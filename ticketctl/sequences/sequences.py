"""Where a project's sequence stands, read consistently."""

from typing import Any, Final

from ticketctl.system.items import RESERVED, Ticket, ticket
from ticketctl.system.stack import System

MAX_NUMBER: Final = 10**15
"""Still exact in JSON for every reader, and far beyond any project."""

_MOST_GIVEN: Final = 100


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


def given_between(
    stack: System, project_id: str, low: int, high: int
) -> tuple[int, ...]:
    """Return the numbers of tickets below `high`, down to `low` or a reserved one."""
    found: list[int] = []
    while len(found) < _MOST_GIVEN:
        below = highest_below(stack, project_id, high)
        if below is None or below.number <= low or below.status == RESERVED:
            break
        high = below.number
        found.append(high)
    return tuple(reversed(found))


def _first(
    stack: System, project_id: str, side: str, number: int, **request: Any
) -> Ticket | None:
    answer = stack.client("dynamodb").query(
        TableName=stack.outputs["TicketsTableName"],
        KeyConditionExpression=f"project_id = :project AND #number {side} :number",
        ExpressionAttributeNames={"#number": "number"},
        ExpressionAttributeValues={
            ":project": {"S": project_id},
            ":number": {"N": str(number)},
        },
        Limit=1,
        ConsistentRead=True,
        **request,
    )
    return next((ticket(item) for item in answer["Items"]), None)
