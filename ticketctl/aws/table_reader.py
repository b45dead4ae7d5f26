"""Reads the tables consistently, at a bounded rate: whole, by project, by keys."""

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
from ticketctl.aws.rate_limiter import RateLimiter
from ticketctl.aws.stack import StackAccess
from ticketctl.cli.errors import InputError
from ticketctl.ledger.item import Item, TicketId

RawItem = Mapping[str, Any]
"""An item in DynamoDB's types."""

MAX_KEYS: Final = 100
"""Of a BatchGetItem, and of a TransactGetItems."""

SEGMENTS: Final = 2
"""Of a scan: while a page of one is looked at, the other's next one comes."""

SETTLING_SECONDS: Final = 2.0
"""After them a transaction is complete of which a scan or a query saw the middle."""

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
        """Return a reader of a stack's tables, or of others in their place."""
        if tickets_table is None:  # Not an empty one, which AWS refuses.
            tickets_table = stack.outputs["TicketsTableName"]
        if keys_table is None:
            keys_table = stack.outputs["IdempotencyKeysTableName"]
        return cls(stack.client("dynamodb"), tickets_table, keys_table, **more)

    def check_key(self, table: str, *key: str) -> int:
        """Check that a table has this key.

        Returns:
            The count of its items, which DynamoDB updates every six hours or so.

        Raises:
            InputError: Its key is another one.
        """
        described = self.dynamodb.describe_table(TableName=table)["Table"]
        actual = tuple(part["AttributeName"] for part in described["KeySchema"])
        if actual != key:
            raise InputError(
                f"the table {table} cannot be meant: "
                f"its key is {', '.join(actual)}, not {', '.join(key)}"
            )
        return int(described.get("ItemCount", 0))

    def scan(self, table: str) -> Iterator[Sequence[RawItem]]:
        """Read the whole table, page by page, in segments side by side.

        All items of a partition are in one segment, whose pages come in their order.
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
                    # Here, for Ctrl-C does not end what waits in another thread.
                    self._count(answer)
                    if start := answer.get("LastEvaluatedKey"):
                        following = segment | {"ExclusiveStartKey": start}
                        coming[pool.submit(call, **following)] = following
                    yield answer["Items"]

    def project(
        self, project_id: str, side: str = "", *numbers: int, **request: Any
    ) -> Iterator[Sequence[RawItem]]:
        """Read a project's tickets in order, page by page.

        Args:
            project_id: The project's id.
            side: A condition on their numbers, such as `> :0`; all, even negative ones,
                without.
            numbers: Its values.
            request: Other parameters of the query.
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
        """Read the items of numbers, each given once; absent ones are left out."""
        keys = starmap(ticket_id, ticket_ids)
        items = map(ledger_item, self._items(self.tickets_table, keys))
        return {(item.project_id, item.number): item for item in items}

    def records(
        self, keys: Iterable[RequestKey]
    ) -> Iterator[tuple[RequestKey, RawItem]]:
        """Read the records of idempotency keys; absent ones are left out."""
        once = dict.fromkeys(keys)
        for item in self._items(self.keys_table, map(record_id, once)):
            yield key_of_id(item[RECORD_ID]["S"]), item

    def recorded(self, keys: Sequence[RequestKey]) -> dict[RequestKey, RawItem]:
        """Return the records of the keys that have one, in one transactional read.

        Any other read can see a ticket whose key's record it does not see yet.

        Raises:
            ClientError: A transaction holds one of the keys.
        """
        gets = [{"TableName": self.keys_table, "Key": record_id(key)} for key in keys]
        answer = self._read(
            "transact_get_items", TransactItems=[{"Get": get} for get in gets]
        )
        responses = zip(keys, answer["Responses"], strict=True)
        return {key: item["Item"] for key, item in responses if item.get("Item")}

    def _items(self, table: str, keys: Iterable[RawItem]) -> Iterator[RawItem]:
        """Read the items of these keys; absent ones are left out."""
        rest = iter(keys)
        while batch := [*islice(rest, MAX_KEYS)]:
            while batch:
                request = {"Keys": batch, "ConsistentRead": True}
                answer = self._read("batch_get_item", RequestItems={table: request})
                yield from answer["Responses"].get(table, [])
                # DynamoDB was too busy for the others.
                left = answer.get("UnprocessedKeys", {})
                batch = left.get(table, {}).get("Keys", [])
                self.sleep(_BUSY_SECONDS if batch else 0)

    def _read(self, operation: str, **request: Any) -> Mapping[str, Any]:
        call = getattr(self.dynamodb, operation)
        answer: Mapping[str, Any] = call(ReturnConsumedCapacity="TOTAL", **request)
        self._count(answer)
        return answer

    def _count(self, answer: Mapping[str, Any]) -> None:
        """Count the units of an answer, and wait as long as they demand."""
        # BatchGetItem has them by table; an emulator may have none.
        capacity = answer.get("ConsumedCapacity") or []
        tables = capacity if isinstance(capacity, list) else [capacity]
        units = sum(float(table.get("CapacityUnits", 0)) for table in tables)
        self.units += units
        # The cost of a page is known afterwards, so the wait comes afterwards, too.
        self.limiter.delay(units)
        self.sleep(self.limiter.delay(0))
