"""Looks tickets up: one by its ticket key, a project's latest, one by its request.

Every read is consistent, so a ticket that was announced is there.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.system.items import (
    IDEMPOTENCY_KEY,
    PROJECT_ID,
    KeyRecord,
    Ticket,
    key_record,
    ticket,
)
from ticketctl.system.stack import System

HIGHEST: Final = 10**19 - 1
"""The highest number that can be asked for."""

_NUMBER: Final = re.compile("[1-9][0-9]{0,18}")


def checked_project(project_id: str) -> str:
    """Return a project id.

    Raises:
        InputError: No project can have that id.
    """
    if not PROJECT_ID.fullmatch(project_id):
        message = (
            f"no project id: {project_id!r}; it has 1 to 64 letters, digits, '.', "
            "'_' and '-'"
        )
        raise InputError(message)
    return project_id


def parse_ticket_key(ticket_key: str) -> tuple[str, int]:
    """Return project and number; a project's id may hold hyphens of its own.

    Raises:
        InputError: It is no ticket key.
    """
    project_id, _, number = ticket_key.rpartition("-")
    if not (PROJECT_ID.fullmatch(project_id) and _NUMBER.fullmatch(number)):
        message = f"no ticket key: {ticket_key!r}; one looks like PROJ-42"
        raise InputError(message)
    return project_id, int(number)


def find_ticket(stack: System, project_id: str, number: int) -> Ticket:
    """Return a ticket.

    Raises:
        NotThereError: There is none of that number.
    """
    found = _ticket(stack, project_id, number)
    if found is None:
        message = (
            f"there is no ticket {project_id}-{number}; "
            f"see the latest with: ticketctl list {project_id}"
        )
        raise NotThereError(message)
    return found


def find_recorded_ticket(stack: System, record: KeyRecord) -> Ticket:
    """Return the ticket that a request got.

    Raises:
        NotThereError: The one that is recorded is gone, or has another key.
    """
    found = _ticket(stack, record.project_id, record.number)
    if found and found.idempotency_key == record.idempotency_key:
        return found
    why = "which has another key" if found else "but there is no such ticket"
    message = (
        f"the key is recorded for {record.project_id}-{record.number}, {why}; "
        "see: ticketctl audit"
    )
    raise NotThereError(message)


def _ticket(stack: System, project_id: str, number: int) -> Ticket | None:
    key = {"project_id": {"S": project_id}, "number": {"N": str(number)}}
    answer = stack.client("dynamodb").get_item(
        TableName=stack.outputs["TicketsTableName"], Key=key, ConsistentRead=True
    )
    return ticket(answer["Item"]) if "Item" in answer else None


def latest_tickets(
    stack: System, project_id: str, limit: int, before: int | None
) -> list[Ticket]:
    """Return a project's latest tickets, newest first, and one more if there is one.

    Args:
        stack: Where they are.
        project_id: Whose tickets.
        limit: How many.
        before: Only those with lower numbers.
    """
    return [*islice(_descending(stack, project_id, limit, before), limit + 1)]


def _descending(
    stack: System, project_id: str, limit: int, before: int | None
) -> Iterator[Ticket]:
    condition = "project_id = :project"
    values = {":project": {"S": project_id}}
    names = {}
    if before is not None:
        condition += " AND #number < :before"
        values[":before"] = {"N": str(before)}
        names = {"ExpressionAttributeNames": {"#number": "number"}}
    pages = (
        stack.client("dynamodb")
        .get_paginator("query")
        .paginate(
            TableName=stack.outputs["TicketsTableName"],
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            ScanIndexForward=False,
            ConsistentRead=True,
            Limit=limit + 1,
            **names,
        )
    )
    for page in pages:
        yield from map(ticket, page["Items"])


def find_record(stack: System, project_id: str, idempotency_key: str) -> KeyRecord:
    """Return what is recorded of a request.

    Raises:
        InputError: No request can have that key.
        NotThereError: Nothing is recorded, or not as the system does it.
    """
    if not IDEMPOTENCY_KEY.fullmatch(idempotency_key):
        message = (
            f"no idempotency key: {idempotency_key!r}; "
            "it has 1 to 128 visible ASCII characters"
        )
        raise InputError(message)
    answer = stack.client("dynamodb").get_item(
        TableName=stack.outputs["IdempotencyKeysTableName"],
        Key={"id": {"S": f"{project_id}#{idempotency_key}"}},
        ConsistentRead=True,
    )
    if "Item" not in answer:
        message = (
            f"{project_id} has no ticket of the key {idempotency_key}: not numbered "
            "(yet); it may still be on the queue or in the dead-letter queue"
        )
        raise NotThereError(message)
    return key_record(answer["Item"])
