"""Two tables in memory, read as DynamoDB is read, that may change meanwhile."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from threading import Lock
from typing import Any
from zlib import crc32

from tests.support.seed_items import Item, key_item, ticket_item
from ticket_numbering.contract.dynamodb_items import CHAIN
from ticketctl.audit.audit import AuditReport, ProjectAudit, audit_tables
from ticketctl.audit.findings import Kind
from ticketctl.audit.reading import AuditPlan
from ticketctl.aws.table_reader import TableReader

Place = tuple[str, ...]

NOW = datetime.now(UTC).isoformat()


@dataclass
class Tables:
    """A DynamoDB client with the tables `tickets` and `keys`."""

    items: dict[str, dict[Place, Item]] = field(
        default_factory=lambda: {"tickets": {}, "keys": {}}
    )
    after: dict[str, Callable[[], None]] = field(default_factory=dict)
    """Happens once, after the table's last page was scanned."""
    on_pause: Callable[[], None] = lambda: None
    """Happens where the audit waits before it looks again."""
    requests: list[str] = field(default_factory=list)
    busy: bool = False
    """Whether a BatchGetItem leaves out half of the keys."""
    page: int = 1
    """Items on a page; each page takes a read unit."""
    ended: Counter[str] = field(default_factory=Counter)
    """The segments of each table that were scanned to their ends."""
    lock: Lock = field(default_factory=Lock)

    def put(self, *items: Item) -> None:
        """Put in items of either table."""
        for item in items:
            names = ["id"] if "id" in item else ["project_id", "number"]
            place = _place({name: item[name] for name in names})
            self.items["keys" if "id" in item else "tickets"][place] = item

    def ticket(
        self, project: str, number: object, key: str | None, **more: str
    ) -> None:
        """Put a ticket in, alone."""
        dated = {} if key is None else {"assigned_at": NOW}
        item = ticket_item(project, number, key, **dated | more)
        self.items["tickets"][project, str(number)] = item

    def key(self, project: str, number: object, key: str, **more: str) -> None:
        """Put a key's record in, alone."""
        item = key_item(project, number, key, **{"assigned_at": NOW} | more)
        self.items["keys"][(f"{project}#{key}",)] = item

    def reserved(self, number: int, up_to: int) -> None:
        """Put in a number of the project A that a seed up to another one reserved."""
        self.ticket("A", number, None, status="reserved", origin="elsewhere")
        self.items["tickets"]["A", str(number)]["reserved_up_to"] = {"N": str(up_to)}

    def both(self, project: str, number: int, key: str = "", **more: str) -> None:
        """Put a ticket in with its key, as the worker does."""
        key = key or f"key-{number}"
        self.ticket(project, number, key, **more)
        shared = {"assigned_at", CHAIN} & more.keys()
        self.key(project, number, key, **{name: more[name] for name in shared})

    def describe_table(self, **request: Any) -> dict[str, Any]:
        table = request["TableName"]
        names = {"tickets": ["project_id", "number"], "keys": ["id"]}[table]
        schema = [{"AttributeName": name} for name in names]
        return {"Table": {"KeySchema": schema, "ItemCount": len(self.items[table])}}

    def scan(self, **request: Any) -> dict[str, Any]:
        table, segment = request["TableName"], request["Segment"]
        self._begin("scan", table, request)
        mine = {
            place: item
            for place, item in self.items[table].items()
            if crc32(place[0].encode()) % request["TotalSegments"] == segment
        }
        answer = self._page(mine, request)
        with self.lock:
            self.ended[table] += "LastEvaluatedKey" not in answer
            if self.ended[table] == request["TotalSegments"]:
                self.after.pop(table, lambda: None)()
        return answer

    def query(self, **request: Any) -> dict[str, Any]:
        table, values = request["TableName"], request["ExpressionAttributeValues"]
        self._begin("query", table, request)
        first, last = (
            float(values[name]["N"]) if name in values else end
            for name, end in ((":first", -inf), (":last", inf))
        )
        mine = {
            place: item
            for place, item in self.items[table].items()
            if place[0] == values[":project"]["S"]
            and first <= float(item["number"]["N"]) <= last
        }
        return self._page(mine, request)

    def batch_get_item(self, **request: Any) -> dict[str, Any]:
        [(table, wanted)] = request["RequestItems"].items()
        self._begin("batch_get_item", table, wanted)
        keys = wanted["Keys"]
        assert 1 <= len(keys) <= 100
        assert len({_place(key) for key in keys}) == len(keys)
        now, later = keys, []
        if self.busy and len(keys) > 1:
            now, later = keys[::2], keys[1::2]
        found = (self.items[table].get(_place(key)) for key in now)
        return {
            "Responses": {table: [item for item in found if item]},
            "UnprocessedKeys": {table: wanted | {"Keys": later}} if later else {},
            "ConsumedCapacity": [{"TableName": table, "CapacityUnits": len(now)}],
        }

    def sleep(self, seconds: float) -> None:
        if seconds:
            self.on_pause()

    def _page(
        self, items: Mapping[Place, Item], request: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Page as DynamoDB does: ascending, from behind the key that ended the last."""
        order = sorted(items, key=_order)
        if start := request.get("ExclusiveStartKey"):
            order = [place for place in order if _order(place) > _order(_place(start))]
        answer: dict[str, Any] = {
            "Items": [items[place] for place in order[: self.page]],
            "ConsumedCapacity": {"CapacityUnits": 1.0},
        }
        if order[self.page :]:
            last = order[self.page - 1]
            names = ["id"] if len(last) == 1 else ["project_id", "number"]
            answer["LastEvaluatedKey"] = {name: items[last][name] for name in names}
        return answer

    def _begin(self, operation: str, table: str, request: Mapping[str, Any]) -> None:
        assert request["ConsistentRead"]
        self.requests.append(f"{operation} {table}")


def audited(tables: Any, *projects: str, **plan: Any) -> AuditReport:
    reader = TableReader(tables, sleep=tables.sleep)
    return audit_tables(reader, AuditPlan("tickets", "keys", projects, **plan))


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


def missing(report: AuditReport) -> tuple[tuple[Kind, int, int], ...]:
    return tuple(
        (finding.kind, finding.numbers[0], finding.numbers[1])
        for finding in report.findings
        if finding.kind in {Kind.GAP, Kind.UNFINISHED_SEED}
    )


def only(report: AuditReport) -> ProjectAudit:
    [project] = report.projects
    return project


def _place(key: Item) -> Place:
    return tuple(next(iter(value.values())) for value in key.values())


def _order(place: Place) -> tuple[str, float]:
    return place[0], float((*place, "0")[1])
