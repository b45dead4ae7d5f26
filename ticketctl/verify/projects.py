"""Reads what the two tables hold of a project that is small."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from ticket_numbering.dynamodb_items import key_id
from ticket_numbering.messages import RequestKey
from ticketctl.system.items import plain
from ticketctl.system.stack import System

_MAX_KEYS: Final = 100  # BatchGetItem.

Range = tuple[int, int]
"""The first and the last number."""


@dataclass(frozen=True)
class Project:
    """The tickets of a project, and the numbers that the key records name."""

    project_id: str
    tickets: Mapping[int, Mapping[str, Any]]
    """By number."""
    recorded: Mapping[str, int]
    """By idempotency key."""

    @property
    def gaps(self) -> list[Range]:
        """The numbers that are missing from 1 to the last."""
        taken = [0, *sorted(self.tickets)]
        return [(low + 1, high - 1) for low, high in pairwise(taken) if high - low > 1]

    @property
    def repeated_keys(self) -> list[str]:
        """The keys that several tickets have."""
        keys = Counter(ticket["idempotency_key"] for ticket in self.tickets.values())
        return sorted(key for key, tickets in keys.items() if tickets > 1)

    @property
    def unrecorded(self) -> list[int]:
        """The tickets whose key record is missing or names another number."""
        return sorted(
            number
            for number, ticket in self.tickets.items()
            if self.recorded.get(ticket["idempotency_key"]) != number
        )


def read_project(stack: System, project_id: str) -> Project:
    """Read a project, consistently."""
    pages = (
        stack.client("dynamodb")
        .get_paginator("query")
        .paginate(
            TableName=stack.outputs["TicketsTableName"],
            KeyConditionExpression="project_id = :project_id",
            ExpressionAttributeValues={":project_id": {"S": project_id}},
            ConsistentRead=True,
        )
    )
    tickets = [plain(item) for page in pages for item in page["Items"]]
    return Project(
        project_id,
        {int(ticket["number"]): ticket for ticket in tickets},
        dict(
            _records(stack, project_id, {each["idempotency_key"] for each in tickets})
        ),
    )


def _records(
    stack: System, project_id: str, keys: set[str]
) -> Iterator[tuple[str, int]]:
    table = stack.outputs["IdempotencyKeysTableName"]
    ids = [{"id": {"S": key_id(RequestKey(project_id, key))}} for key in sorted(keys)]
    for start in range(0, len(ids), _MAX_KEYS):
        wanted = ids[start : start + _MAX_KEYS]
        unread: Any = {table: {"Keys": wanted, "ConsistentRead": True}}
        while unread:
            answer = stack.client("dynamodb").batch_get_item(RequestItems=unread)
            for record in map(plain, answer["Responses"].get(table, [])):
                yield record["idempotency_key"], int(record["number"])
            unread = answer.get("UnprocessedKeys")
