"""Reads a table, consistently: whole, by partition, or the items of given keys.

Every request asks what it took and tells the meter.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import ClientError

from ticketctl.audit.read_meter import ReadMeter
from ticketctl.audit.reading_threads import side_by_side
from ticketctl.cli.errors import InputError
from ticketctl.system.aws_errors import error_code

Item = Mapping[str, Any]

_BATCH: Final = 100  # BatchGetItem: keys in a request.
_PAGE: Final = 10_000  # More than 1 MB holds, at which DynamoDB ends a page itself.


@dataclass(frozen=True)
class TableReader:
    """Reads tables with one client and one meter."""

    dynamodb: Any
    meter: ReadMeter
    pause_seconds: float = 0.2
    """Before a busy table is asked once more."""

    def expect(self, table: str, key: tuple[str, ...]) -> int:
        """Make sure that the table has this key; return about how many items it has.

        Raises:
            InputError: There is no such table, or its key is another one.
        """
        try:
            found = self.dynamodb.describe_table(TableName=table)["Table"]
        except ClientError as error:
            if error_code(error) != "ResourceNotFoundException":
                raise
            place = self.dynamodb.meta.region_name
            message = f"no table {table} in {place}; name another, or another --region"
            raise InputError(message) from error
        has = tuple(each["AttributeName"] for each in found["KeySchema"])
        if has != key:
            message = (
                f"the table {table} cannot be meant: "
                f"its key is {', '.join(has)}, not {', '.join(key)}"
            )
            raise InputError(message)
        return int(found.get("ItemCount", 0))

    def scan(
        self,
        table: str,
        attributes: Sequence[str],
        segments: int,
        on_page: Callable[[Sequence[Item]], None],
    ) -> None:
        """Read the whole table in so many threads; each hands on its own pages.

        Raises:
            ReadingStoppedError: Not all could be read.
        """

        def read(segment: int) -> None:
            place = {"Segment": segment, "TotalSegments": segments}
            for page in self._pages("scan", table, attributes, **place):
                on_page(page)

        side_by_side(self.meter, range(segments), read, segments)

    def partition(
        self,
        table: str,
        project_id: str,
        attributes: Sequence[str],
        numbers: tuple[int, int] | None = None,
    ) -> Iterator[Sequence[Item]]:
        """Read a project's tickets, or those in a range, ascending, page by page.

        Args:
            table: The tickets' table.
            project_id: Whose tickets.
            attributes: What to return of each; `project_id` and `number` come first.
            numbers: The first and the last; all, even negative ones, if not given.
        """
        # The aliases of the first two attributes: `number` is a reserved word.
        condition, values = "#0 = :project", {":project": {"S": project_id}}
        if numbers:
            condition += " AND #1 BETWEEN :first AND :last"
            ends = zip((":first", ":last"), numbers, strict=True)
            values |= {name: {"N": str(number)} for name, number in ends}
        return self._pages(
            "query",
            table,
            attributes,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
        )

    def item(self, table: str, key: Item) -> Item | None:
        """Read one item."""
        answer = self._read("get_item", TableName=table, Key=key, ConsistentRead=True)
        found: Item | None = answer.get("Item")
        return found

    def items(
        self, table: str, keys: Sequence[Item], attributes: Sequence[str]
    ) -> Iterator[Item]:
        """Read the items of these keys, each given once; the absent are left out."""
        waiting = [*keys]
        while waiting:
            size = self.meter.at_most(_BATCH)
            now, waiting = waiting[:size], waiting[size:]
            wanted = {"Keys": now, "ConsistentRead": True, **_only(attributes)}
            answer = self._read("batch_get_item", RequestItems={table: wanted})
            yield from answer["Responses"].get(table, [])
            # What DynamoDB leaves out it was too busy for.
            left = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            waiting = [*left, *waiting]
            time.sleep(self.pause_seconds if left else 0)

    def _pages(
        self, operation: str, table: str, attributes: Sequence[str], **request: Any
    ) -> Iterator[Sequence[Item]]:
        request |= {"TableName": table, "ConsistentRead": True, **_only(attributes)}
        while True:
            limit = self.meter.at_most(_PAGE)
            answer = self._read(operation, Limit=limit, **request)
            yield answer["Items"]
            if not (start := answer.get("LastEvaluatedKey")):
                return
            request["ExclusiveStartKey"] = start

    def _read(self, operation: str, **request: Any) -> Mapping[str, Any]:
        self.meter.wait_for_turn()
        call = getattr(self.dynamodb, operation)
        answer: Mapping[str, Any] = call(ReturnConsumedCapacity="TOTAL", **request)
        self.meter.add(_units(answer))
        return answer


def _only(attributes: Sequence[str]) -> dict[str, Any]:
    """Ask for some attributes, by aliases: `number` is a reserved word."""
    names = {f"#{place}": name for place, name in enumerate(attributes)}
    return {
        "ProjectionExpression": ", ".join(names),
        "ExpressionAttributeNames": names,
    }


def _units(answer: Mapping[str, Any]) -> float:
    """BatchGetItem tells it by table; an emulator may not tell it at all."""
    told = answer.get("ConsumedCapacity") or []
    tables = told if isinstance(told, list) else [told]
    return sum(float(each.get("CapacityUnits", 0)) for each in tables)
