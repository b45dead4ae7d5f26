"""Reads the tables consistently, at a limited rate: whole, by project, by keys."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, starmap
from typing import Any, Final, Self

from ticket_numbering.contract.dynamodb_items import (
    NUMBER,
    RECORD_ID,
    key_of_id,
    record_id,
    ticket_id,
)
from ticket_numbering.contract.messages import RequestKey
from ticketctl.aws.items import ledger_item
from ticketctl.aws.retry import RateLimiter
from ticketctl.aws.stack import StackAccess
from ticketctl.cli.errors import InputError
from ticketctl.ledger.item import Item, TicketId
from ticketctl.ledger.record import KeyRecord

RawItem = Mapping[str, Any]
"""An item in DynamoDB's types."""

MAX_KEYS: Final = 100
"""The limit of BatchGetItem and of TransactGetItems."""

SEGMENTS: Final = 2
"""The segments of a scan: one is processed while the next page of the other loads."""

SETTLING_SECONDS: Final = 2.0
"""The time after which a transaction is complete that a read saw half of."""

_BUSY_SECONDS: Final = 0.2


@dataclass
class TableReader:
    """Reads two tables with one client, at the rate of its limiter."""

    dynamodb: Any
    tickets_table: str
    keys_table: str
    limiter: RateLimiter = field(default_factory=RateLimiter)
    sleep: Callable[[float], None] = field(default_factory=lambda: time.sleep)
    units: float = 0.0

    @classmethod
    def of(
        cls,
        stack: StackAccess,
        tickets_table: str | None = None,
        keys_table: str | None = None,
        **more: Any,
    ) -> Self:
        """Return a reader of a stack's tables, or of other tables."""
        if tickets_table is None:  # An empty name goes to AWS, which rejects it.
            tickets_table = stack.outputs["TicketsTableName"]
        if keys_table is None:
            keys_table = stack.outputs["IdempotencyKeysTableName"]
        return cls(stack.client("dynamodb"), tickets_table, keys_table, **more)

    def check_key(self, table: str, *key: str) -> int:
        """Check that a table has this key.

        Returns:
            The count of its items, which DynamoDB updates every six hours or so.

        Raises:
            InputError: Its key differs.
        """
        described = self.dynamodb.describe_table(TableName=table)["Table"]
        actual = tuple(part["AttributeName"] for part in described["KeySchema"])
        if actual != key:
            raise InputError(
                f"the table {table} has the key {', '.join(actual)}, "
                f"not {', '.join(key)}"
            )
        return int(described.get("ItemCount", 0))

    def scan(self, table: str) -> Iterator[Sequence[RawItem]]:
        """Yield the whole table, page by page, from parallel segments.

        All items of a partition are in one segment, whose pages keep their order.
        """
        call = partial(
            self.dynamodb.scan,
            TableName=table,
            TotalSegments=SEGMENTS,
            ConsistentRead=True,
            ReturnConsumedCapacity="TOTAL",
        )
        with ThreadPoolExecutor(SEGMENTS) as pool:
            segments = [{"Segment": segment} for segment in range(SEGMENTS)]
            coming = {pool.submit(call, **segment): segment for segment in segments}
            while coming:
                for done in wait(coming, return_when=FIRST_COMPLETED).done:
                    segment, answer = coming.pop(done), done.result()
                    # Not in the thread, because Ctrl-C does not end its wait.
                    self._count(answer)
                    if start := answer.get("LastEvaluatedKey"):
                        following = segment | {"ExclusiveStartKey": start}
                        coming[pool.submit(call, **following)] = following
                    yield answer["Items"]

    def project(
        self, project_id: str, side: str = "", *numbers: int, **request: Any
    ) -> Iterator[Sequence[RawItem]]:
        """Yield a project's tickets in order, page by page.

        `side` is a condition on the numbers, such as `> :0`, followed by its values;
        without it all match, even negative ones.
        """
        query: dict[str, Any] = {
            "TableName": self.tickets_table,
            "KeyConditionExpression": "project_id = :project",
            "ExpressionAttributeValues": {":project": {"S": project_id}},
            "ConsistentRead": True,
            **request,
        }
        if side:
            query["KeyConditionExpression"] += f" AND #number {side}"
            query["ExpressionAttributeNames"] = {"#number": NUMBER}
            query["ExpressionAttributeValues"] |= {
                f":{index}": {"N": str(number)} for index, number in enumerate(numbers)
            }
        while True:
            answer = self._read("query", **query)
            yield answer["Items"]
            if not (start := answer.get("LastEvaluatedKey")):
                return
            query["ExclusiveStartKey"] = start

    def tickets(self, ticket_ids: Iterable[TicketId]) -> dict[TicketId, Item]:
        """Return the existing items of distinct tickets."""
        keys = starmap(ticket_id, ticket_ids)
        items = map(ledger_item, self._items(self.tickets_table, keys))
        return {(item.project_id, item.number): item for item in items}

    def named(
        self, records: Sequence[KeyRecord]
    ) -> Iterator[tuple[KeyRecord, Item | None]]:
        """Read the items of the numbers that records name; yield both."""
        numbers = [(record.project_id, record.number) for record in records]
        items = self.tickets(dict.fromkeys(numbers))
        return zip(records, map(items.get, numbers), strict=True)

    def records(
        self, keys: Iterable[RequestKey]
    ) -> Iterator[tuple[RequestKey, RawItem]]:
        """Yield the existing records of idempotency keys."""
        once = dict.fromkeys(keys)
        for item in self._items(self.keys_table, map(record_id, once)):
            yield key_of_id(item[RECORD_ID]["S"]), item

    def recorded(self, keys: Sequence[RequestKey]) -> dict[RequestKey, RawItem]:
        """Return the existing records of keys, in one transactional read.

        Any other read can see a ticket without the record of its key.

        Raises:
            ClientError: Another transaction holds one of the keys.
        """
        gets = [{"TableName": self.keys_table, "Key": record_id(key)} for key in keys]
        answer = self._read(
            "transact_get_items", TransactItems=[{"Get": get} for get in gets]
        )
        responses = zip(keys, answer["Responses"], strict=True)
        return {key: item["Item"] for key, item in responses if item.get("Item")}

    def _items(self, table: str, keys: Iterable[RawItem]) -> Iterator[RawItem]:
        """Yield the existing items of these keys."""
        rest = iter(keys)
        while batch := [*islice(rest, MAX_KEYS)]:
            while batch:
                request = {"Keys": batch, "ConsistentRead": True}
                answer = self._read("batch_get_item", RequestItems={table: request})
                yield from answer["Responses"].get(table, [])
                # DynamoDB throttled the other keys.
                left = answer.get("UnprocessedKeys", {})
                batch = left.get(table, {}).get("Keys", [])
                self.sleep(_BUSY_SECONDS if batch else 0)

    def _read(self, operation: str, **request: Any) -> Mapping[str, Any]:
        call = getattr(self.dynamodb, operation)
        answer: Mapping[str, Any] = call(ReturnConsumedCapacity="TOTAL", **request)
        self._count(answer)
        return answer

    def _count(self, answer: Mapping[str, Any]) -> None:
        """Count the units of a response, and wait to keep the rate."""
        # BatchGetItem reports them by table, an emulator may report none.
        capacity = answer.get("ConsumedCapacity") or []
        tables = capacity if isinstance(capacity, list) else [capacity]
        units = sum(float(table.get("CapacityUnits", 0)) for table in tables)
        self.units += units
        # The cost of a page is known only after its read, so the wait follows it.
        self.limiter.delay(units)
        self.sleep(self.limiter.delay(0))
