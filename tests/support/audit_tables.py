"""The laboratory's tables for the commands that read them whole."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from simulation.aws.items import Address, Item, key_of
from simulation.aws.tables import SCHEMA
from tests.support.model_services import InTurn, ModelServices
from tests.support.seed_items import key_item, ticket_item
from ticket_numbering.contract.dynamodb_items import CHAIN
from ticketctl.audit.audit import AuditReport, ProjectAudit, audit_tables
from ticketctl.audit.reading import AuditPlan
from ticketctl.aws.table_reader import TableReader
from ticketctl.evidence.findings import Kind

NOW = datetime.now(UTC).isoformat()

BOTH_WAYS = pytest.mark.parametrize("projects", [(), ("A",)], ids=["all", "single"])
"""Of everything, and of the project A alone."""


def _address(key: tuple[object, ...]) -> Address:
    if len(key) == 1:
        return Address("keys", (str(key[0]),))
    project, number = key
    return Address("tickets", (str(project), Decimal(str(number))))


class Tables:
    """The laboratory's tables `tickets` and `keys`, read in pages of one item."""

    def __init__(self, page: int = 1) -> None:
        self.faults = dict[str, Any]()
        """Of the next calls, by operation."""
        self.tables = (services := ModelServices(faults=InTurn(self.faults))).tables
        self.dynamodb = services.dynamodb
        self.dynamodb.page = page
        self.on_pause: Callable[[], object] = lambda: None
        """Happens where the reader waits before it looks again."""

    def items(self, table: str) -> list[Any]:
        """Return a table's items, which can be changed."""
        return self.tables.items(table)

    def item(self, *key: object) -> Any:
        """Return the ticket of a project and a number, or the record of an id."""
        return self.tables.read(_address(key))

    def put(self, *items: Item) -> None:
        """Put in items of either table."""
        for item in items:
            table = "keys" if "id" in item else "tickets"
            key = key_of(item, SCHEMA[table])
            self.tables.write(Address(table, key), item)

    def remove(self, *key: object) -> None:
        """Delete the ticket of a project and a number, or the record of an id."""
        self.tables.write(_address(key), None)

    def ticket(
        self, project: str, number: object, key: str | None, **more: str
    ) -> None:
        """Put a ticket in, alone."""
        dated = {} if key is None else {"assigned_at": NOW}
        self.put(ticket_item(project, number, key, **dated | more))

    def key(self, project: str, number: object, key: str, **more: str) -> None:
        """Put a key's record in, alone."""
        self.put(key_item(project, number, key, **{"assigned_at": NOW} | more))

    def reserved(self, number: int, up_to: int) -> None:
        """Put in a number of the project A that a seed up to another one reserved."""
        self.ticket("A", number, None, status="reserved", origin="elsewhere")
        self.item("A", number)["reserved_up_to"] = {"N": str(up_to)}

    def both(self, project: str, number: int, key: str = "", **more: str) -> None:
        """Put a ticket in with its key, as the worker does."""
        key = key or f"key-{number}"
        self.ticket(project, number, key, **more)
        shared = {"assigned_at", CHAIN} & more.keys()
        self.key(project, number, key, **{name: more[name] for name in shared})

    def sleep(self, seconds: float) -> None:
        if seconds:
            self.on_pause()


def audited(tables: Any, *projects: str, **plan: Any) -> AuditReport:
    reader = TableReader(tables.dynamodb, sleep=tables.sleep)
    return audit_tables(reader, AuditPlan("tickets", "keys", projects, **plan))


def found(tables: Tables, *projects: str, **plan: Any) -> list[tuple[Any, ...]]:
    """Return the kinds and the numbers of an audit's findings."""
    findings = audited(tables, *projects, **plan).findings
    return [(finding.kind, *finding.numbers) for finding in findings]


def sequence(*numbers: int, seeds: Iterable[tuple[int, int]] = ()) -> Tables:
    """Return tables of the project A with these numbers.

    Args:
        numbers: Those that have a ticket and a key.
        seeds: Those that a seed reserved, and its last number.
    """
    tables = Tables()
    for number in numbers:
        tables.both("A", number)
    for number, up_to in seeds:
        tables.reserved(number, up_to)
    return tables


MISSING = {
    "nothing": (sequence(1, 2, 3), ()),
    "the first": (sequence(2), ((Kind.GAP, 1, 1),)),
    "many": (sequence(4, 1, 999), ((Kind.GAP, 2, 3), (Kind.GAP, 5, 998))),
    "behind a seed": (
        sequence(1, 2, 12, seeds=[(3, 10), (10, 10)]),
        ((Kind.GAP, 11, 11),),
    ),
    "the end of a seed": (sequence(1, 2, 12, seeds=[(3, 10)]), ((Kind.GAP, 4, 11),)),
    "right before a seed": (
        sequence(1, 2, seeds=[(4, 10), (10, 10)]),
        ((Kind.GAP, 3, 3),),
    ),
    "the first step alone, new": (
        sequence(seeds=[(10, 10)]),
        ((Kind.UNFINISHED_SEED, 1, 9),),
    ),
    "the first step alone, numbered": (
        sequence(1, 2, seeds=[(10, 10)]),
        ((Kind.UNFINISHED_SEED, 3, 9),),
    ),
    "between two seeds": (
        sequence(seeds=[(1, 4), (4, 4), (9, 9)]),
        ((Kind.UNFINISHED_SEED, 5, 8),),
    ),
}
"""Tables, and their missing numbers: the kind, the first and the last."""


def only(report: AuditReport) -> ProjectAudit:
    [project] = report.projects
    return project
