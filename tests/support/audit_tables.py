"""Two tables in memory, read as DynamoDB is read, that may change meanwhile."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Any

from ticketctl.audit.audit import audit_tables
from ticketctl.audit.plan import AuditPlan
from ticketctl.audit.read_meter import ReadMeter
from ticketctl.audit.results import AuditReport, ProjectAudit
from ticketctl.audit.table_scan import TableReader

Item = dict[str, dict[str, Any]]

NOW = datetime.now(UTC).isoformat()


@dataclass
class Tables:
    """A DynamoDB client with the tables `tickets` and `keys`: a page an item."""

    items: dict[str, dict[tuple[str, ...], Item]] = field(
        default_factory=lambda: {"tickets": {}, "keys": {}}
    )
    before: dict[str, Callable[[], None]] = field(default_factory=dict)
    """Happens once, before the first request of this operation and table."""
    after: dict[str, Callable[[], None]] = field(default_factory=dict)
    """Happens once, after the table's last page was scanned."""
    requests: list[str] = field(default_factory=list)
    busy: bool = False
    """Whether a BatchGetItem leaves out half of the keys."""
    page: int = 1
    """Items on a page; each page takes a read unit."""
    item_units: float = 0
    """Read units for each item of a page, instead."""

    def ticket(
        self, project: str, number: object, key: str | None, **more: str
    ) -> None:
        """Put a ticket in, alone."""
        texts = {"assigned_at": NOW} | more
        if key is not None:
            texts["idempotency_key"] = key
        self.items["tickets"][project, str(number)] = {
            "project_id": {"S": project},
            "number": {"N": str(number)},
            **{name: {"S": text} for name, text in texts.items()},
        }

    def key(self, project: str, number: object, key: str) -> None:
        """Put a key's record in, alone."""
        self.items["keys"][(f"{project}#{key}",)] = {
            "id": {"S": f"{project}#{key}"},
            "project_id": {"S": project},
            "idempotency_key": {"S": key},
            "number": {"N": str(number)},
        }

    def both(self, project: str, number: int, key: str = "", **more: str) -> None:
        """Put a ticket in with its key, as the worker does."""
        key = key or f"key-{number}"
        self.ticket(project, number, key, **more)
        self.key(project, number, key)

    def scan(self, **request: Any) -> dict[str, Any]:
        """Return the next item of a segment."""
        table = request["TableName"]
        self._begin("scan", table, request)
        segment, of = request["Segment"], request["TotalSegments"]
        mine = {
            place: item
            for place, item in self.items[table].items()
            if sum(place[0].encode()) % of == segment
        }
        answer = self._page(mine, request)
        if "LastEvaluatedKey" not in answer:
            self.after.pop(table, lambda: None)()
        return answer

    def query(self, **request: Any) -> dict[str, Any]:
        """Return the next ticket of a range of a project's."""
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

    def get_item(self, **request: Any) -> dict[str, Any]:
        """Return an item, if it is there."""
        table = request["TableName"]
        self._begin("get_item", table, request)
        item = self.items[table].get(_place(request["Key"]))
        return {"ConsumedCapacity": {"CapacityUnits": 1.0}} | (
            {"Item": item} if item else {}
        )

    def batch_get_item(self, **request: Any) -> dict[str, Any]:
        """Return the items that are there."""
        [(table, wanted)] = request["RequestItems"].items()
        self._begin("batch_get_item", table, wanted)
        keys = wanted["Keys"]
        assert 1 <= len(keys) <= 100
        assert len({_place(each) for each in keys}) == len(keys)
        now, later = (keys[::2], keys[1::2]) if self.busy else (keys, [])
        found = (self.items[table].get(_place(each)) for each in now)
        return {
            "Responses": {table: [each for each in found if each]},
            "UnprocessedKeys": {table: wanted | {"Keys": later}} if later else {},
            "ConsumedCapacity": [{"TableName": table, "CapacityUnits": len(now)}],
        }

    def _page(
        self, items: dict[tuple[str, ...], Item], request: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Page as DynamoDB does: ascending, from behind the key that ended the last."""
        size = min(self.page, request["Limit"])
        order = sorted(items, key=_order)
        if start := request.get("ExclusiveStartKey"):
            order = [each for each in order if _order(each) > _order(_place(start))]
        units = self.item_units * len(order[:size]) or 1.0
        answer: dict[str, Any] = {
            "Items": [items[place] for place in order[:size]],
            "ConsumedCapacity": {"CapacityUnits": units},
        }
        if order[size:]:
            last = order[size - 1]
            names = ["id"] if len(last) == 1 else ["project_id", "number"]
            answer["LastEvaluatedKey"] = {name: items[last][name] for name in names}
        return answer

    def _begin(self, operation: str, table: str, request: Mapping[str, Any]) -> None:
        assert request["ConsistentRead"]
        self.requests.append(f"{operation} {table}")
        self.before.pop(f"{operation} {table}", lambda: None)()


def audited(tables: Tables, *projects: str, **plan: Any) -> AuditReport:
    """Audit the tables; `most` is the budget, the rest belongs to the plan."""
    meter = ReadMeter(most=plan.pop("most", None))
    reader = TableReader(tables, meter, pause_seconds=0)
    return audit_tables(reader, AuditPlan("tickets", "keys", projects, **plan))


def only(report: AuditReport) -> ProjectAudit:
    """Return the report's only project."""
    [project] = report.projects
    return project


def findings(report: AuditReport) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Return kind, numbers and key of each finding."""
    for each in report.findings:
        yield each.kind, each.numbers, each.idempotency_key


def _place(key: Item) -> tuple[str, ...]:
    return tuple(next(iter(value.values())) for value in key.values())


def _order(place: tuple[str, ...]) -> tuple[str, float]:
    return place[0], float((*place, "0")[1])
