"""Reads what the two tables hold of a project that is small."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ticket_numbering.dynamodb_items import key_id
from ticket_numbering.messages import RequestKey
from ticketctl.system.items import plain
from ticketctl.system.stack import System
from ticketctl.system.tickets import key_records, tickets_above

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
    """Read a project's tickets, and the records of their keys."""
    found = {
        ticket.number: ticket.fields for ticket in tickets_above(stack, project_id, 0)
    }
    keys = {str(fields["idempotency_key"]) for fields in found.values()}
    ids = {key_id(RequestKey(project_id, key)): key for key in sorted(keys)}
    records = key_records(stack, ids)
    return Project(
        project_id,
        found,
        {ids[one]: int(plain(record)["number"]) for one, record in records.items()},
    )
