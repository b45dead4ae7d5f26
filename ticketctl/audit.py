"""Audits the tables: are the numbers of every project exactly 1..n, one a key?"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from boto3.dynamodb.types import TypeDeserializer


@dataclass(frozen=True)
class ProjectAudit:
    """What a project's tickets and keys say."""

    project_id: str
    numbers: tuple[int, ...]
    """Ascending."""
    gaps: tuple[tuple[int, int], ...]
    """Missing numbers, as ranges with both ends."""
    duplicates: tuple[str, ...]
    """Idempotency keys with more than one ticket."""
    mismatches: tuple[str, ...]
    """Keys whose record and ticket do not name each other."""

    @property
    def first(self) -> int:
        """The lowest number; 0 if there is no ticket."""
        return min(self.numbers, default=0)

    @property
    def last(self) -> int:
        """The highest number; 0 if there is no ticket."""
        return max(self.numbers, default=0)

    @property
    def is_clean(self) -> bool:
        """Whether the promise holds for this project."""
        return not (self.gaps or self.duplicates or self.mismatches)


def audit(dynamodb: Any, tickets_table: str, keys_table: str) -> list[ProjectAudit]:
    """Read both tables and check them against each other, project by project.

    The reads are not one moment's: run it when the queue is empty.
    """
    tickets: dict[str, dict[int, str]] = defaultdict(dict)
    for item in _items(dynamodb, tickets_table):
        number = int(item["number"]["N"])
        tickets[item["project_id"]["S"]][number] = item["idempotency_key"]["S"]
    keys: dict[str, dict[str, int]] = defaultdict(dict)
    for item in _items(dynamodb, keys_table):
        number = int(item["number"]["N"])
        keys[item["project_id"]["S"]][item["idempotency_key"]["S"]] = number
    projects = sorted(tickets.keys() | keys.keys())
    return [_audit(each, tickets[each], keys[each]) for each in projects]


def tickets_of(dynamodb: Any, table: str) -> Iterator[dict[str, Any]]:
    """Return every ticket as it is stored."""
    deserialize = TypeDeserializer().deserialize
    for item in _items(dynamodb, table):
        yield {name: deserialize(value) for name, value in item.items()}


def _audit(
    project_id: str, tickets: dict[int, str], keys: dict[str, int]
) -> ProjectAudit:
    numbers = sorted(tickets)
    used = Counter(tickets.values())
    pairs = {(key, number) for number, key in tickets.items()}
    mismatched = pairs ^ set(keys.items())
    return ProjectAudit(
        project_id,
        tuple(numbers),
        gaps=tuple(_gaps(numbers)),
        duplicates=tuple(sorted(key for key, times in used.items() if times > 1)),
        mismatches=tuple(sorted({key for key, _ in mismatched})),
    )


def _gaps(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The number before the first is 0: a sequence that starts at 2 has a gap."""
    for before, after in pairwise([0, *numbers]):
        if after - before > 1:
            yield before + 1, after - 1


def _items(dynamodb: Any, table: str) -> Iterator[dict[str, Any]]:
    pages = dynamodb.get_paginator("scan").paginate(
        TableName=table, ConsistentRead=True
    )
    for page in pages:
        yield from page["Items"]
