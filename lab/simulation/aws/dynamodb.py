"""DynamoDB, as far as the algorithms depend on it."""

import operator
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final

from simulation.aws.actions import NONE, cancelled
from simulation.aws.errors import ServiceError, validation
from simulation.aws.items import (
    MAX_ITEM_BYTES,
    READ_UNIT_BYTES,
    WRITE_UNIT_BYTES,
    Address,
    Item,
    holds,
    plain,
    size_of,
    updated,
    write_units,
)
from simulation.aws.tables import Tables
from simulation.aws.transactions import Transactions

STALENESS_SECONDS: Final = 1.0
"""The highest age of an eventually consistent read."""

SIDES: Final[Mapping[str, Callable[..., bool]]] = {
    "<": operator.lt,
    ">": operator.gt,
    ">=": operator.ge,
    "BETWEEN": lambda number, first, last: first <= number <= last,
}
MAX_KEYS: Final = 100
MAX_ITEM_UNITS: Final = MAX_ITEM_BYTES // WRITE_UNIT_BYTES

Request = Mapping[str, Any]
Answer = dict[str, Any]


class DynamoDB:
    """Answers requests; each takes effect between two steps of the scheduler."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._transactions = Transactions(tables)

    def serve(self, operation: str, request: Request, *, partly: bool) -> Answer:
        """Answer a request; `operation` is the name of boto3's method.

        Raises:
            ServiceError: The request is rejected.
        """
        operations: dict[str, Callable[[Request], Answer]] = {
            "query": self._query,
            "get_item": self._get,
            "batch_get_item": lambda request: self._batch_get(request, partly=partly),
            "put_item": self._put,
            "update_item": self._update,
            "delete_item": self._delete,
            "transact_get_items": self._transact_get,
            "transact_write_items": self._transactions.run,
        }
        return operations[operation](request)

    def _query(self, request: Request) -> Answer:
        table = request["TableName"]
        schema = self.tables.schema_of(table)
        whole, _, part = request["KeyConditionExpression"].partition(" AND ")
        name, placeholder = whole.split(" = ")
        value = request["ExpressionAttributeValues"][placeholder]
        if next(iter(schema)) != name or not value.get(schema[name]):
            raise validation("Query condition missed key schema element")
        age = self._age(request)
        keys = self.tables.partition(table, plain(value), age)
        if part:
            _, side, *names = part.replace(" AND ", " ").split()
            bounds = [plain(request["ExpressionAttributeValues"][n]) for n in names]
            keys = [key for key in keys if SIDES[side](key[-1], *bounds)]
        if not request.get("ScanIndexForward", True):
            keys = keys[::-1]
        read = (self.tables.read(Address(table, key), age) for key in keys)
        items = [item for item in islice(read, request.get("Limit")) if item]
        self._count_read(request, *items)
        return {"Items": [_projected(item, request) for item in items]}

    def _get(self, request: Request) -> Answer:
        item = self.tables.read(self.tables.address(request), self._age(request))
        self._count_read(request, item)
        return {"Item": item} if item else {}

    def _batch_get(self, request: Request, *, partly: bool) -> Answer:
        """Answer in any order; leave keys unprocessed if `partly`."""
        responses: dict[str, list[Item]] = {}
        unprocessed: dict[str, Any] = {}
        for table, wanted in request["RequestItems"].items():
            keys = sorted(wanted["Keys"], key=str)
            if not 1 <= len(keys) <= MAX_KEYS:
                raise validation(f"1 to {MAX_KEYS} keys are allowed")
            left = self.tables.choices.pick(len(keys)) if partly else len(keys)
            addresses = [
                self.tables.address({"TableName": table, "Key": key}) for key in keys
            ]
            if len(set(addresses)) < len(keys):
                raise validation("Provided list of item keys contains duplicates")
            read = [
                self.tables.read(address, self._age(wanted))
                for address in addresses[:left]
            ]
            self._count_read(wanted, *read)
            responses[table] = [
                *self.tables.choices.order([item for item in read if item])
            ]
            if keys[left:]:
                unprocessed[table] = dict(wanted) | {"Keys": keys[left:]}
        return {"Responses": responses, "UnprocessedKeys": unprocessed}

    def _transact_get(self, request: Request) -> Answer:
        """Read items that no transaction holds, be it to decide or to write them."""
        addresses = [
            self.tables.address(part["Get"]) for part in request["TransactItems"]
        ]
        if not 1 <= len(addresses) <= MAX_KEYS:
            raise validation(f"1 to {MAX_KEYS} actions are allowed")
        held = [address in self.tables.locked for address in addresses]
        if any(held):
            conflict = {"Code": "TransactionConflict", "Message": "in use"}
            raise cancelled(
                [conflict if is_held else {"Code": NONE} for is_held in held]
            )
        items = [self.tables.read(address) for address in addresses]
        for item in items:
            # Twice the units of a consistent read.
            self._count_read({"ConsistentRead": True}, item)
            self._count_read({"ConsistentRead": True}, item)
        return {"Responses": [{"Item": item} if item else {} for item in items]}

    def _put(self, request: Request) -> Answer:
        self._change(request, request["Item"])
        return {}

    def _update(self, request: Request) -> Answer:
        address = self.tables.address(request)
        old = self.tables.read(address)
        changed = updated(request, old)
        new = _without_none({**(old or request["Key"]), **changed})
        self._change(request, new)
        shown = {"ALL_NEW": new, "UPDATED_NEW": _without_none(changed)}
        wanted = request.get("ReturnValues")
        return {"Attributes": shown[wanted]} if wanted in shown else {}

    def _delete(self, request: Request) -> Answer:
        self._change(request, None)
        return {}

    def _change(self, request: Request, item: Item | None) -> None:
        """Write one item outside a transaction."""
        address = self.tables.address(request)
        old = self.tables.read(address)
        units = write_units(item) if item else 1
        if units > MAX_ITEM_UNITS:
            raise validation("Item size has exceeded the maximum allowed size")
        if address in self.tables.locked:
            raise ServiceError("TransactionConflictException")
        if not self.tables.charge(address, units):
            raise ServiceError("ThrottlingException")
        if not holds(request, old):
            wanted = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
            members: dict[str, Any] = {"Item": old} if wanted and old else {}
            raise ServiceError("ConditionalCheckFailedException", **members)
        self.tables.on_decision({address: item})
        self.tables.write(address, item)

    def _age(self, request: Request) -> float:
        if request.get("ConsistentRead"):
            return 0.0
        return self.tables.choices.duration(0.0, STALENESS_SECONDS)

    def _count_read(self, request: Request, *items: Item | None) -> None:
        size = sum(size_of(item) for item in items if item)
        units = max(1, -(-size // READ_UNIT_BYTES))
        self.tables.units_read += units if request.get("ConsistentRead") else units / 2


def _without_none(attributes: Mapping[str, Any]) -> Item:
    return {name: value for name, value in attributes.items() if value is not None}


def _projected(item: Item, request: Request) -> Item:
    if "ProjectionExpression" not in request:
        return item
    names = request.get("ExpressionAttributeNames", {})
    wanted = [alias.strip() for alias in request["ProjectionExpression"].split(",")]
    return {
        name: item[name]
        for name in (names.get(alias, alias) for alias in wanted)
        if name in item
    }
