"""Keys, sizes and conditions of items."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from moto.dynamodb.comparisons import get_filter_expression
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.dynamo_type import Item as MotoItem

from simulation.aws.errors import ServiceError, validation

MAX_ITEM_BYTES: Final = 400 * 1024
"""DynamoDB quotas, "Item size"."""

WRITE_UNIT_BYTES: Final = 1024
READ_UNIT_BYTES: Final = 4 * 1024

Item = Mapping[str, Any]
Value = Mapping[str, Any]
Key = tuple[str | Decimal, ...]

_CONDITION: Final = re.compile(r"attribute_(not_)?exists\((\w+)\)")
_CLAUSE: Final = re.compile(
    r"(ADD|SET) (#?\w+ =? ?:\w+(?:, #?\w+ =? ?:\w+)*) ?|(REMOVE) (#?\w+(?:, #?\w+)*) ?"
)
_CHANGE: Final = re.compile(r"(#?\w+) =? ?(:\w+)")
_NESTING_BYTES: Final = 3


@dataclass(frozen=True, slots=True)
class Address:
    """The table and the key of an item."""

    table: str
    key: Key

    @property
    def partition(self) -> tuple[str, str | Decimal]:
        """The partition; its items share its throughput."""
        return self.table, self.key[0]


class KeyMismatchError(ServiceError):
    """A part of a key is missing or of another type than in the schema."""

    def __init__(self, message: str) -> None:
        super().__init__("ValidationException", message)


def key_of(item: Item, schema: Mapping[str, str]) -> Key:
    """Return the item's key.

    Args:
        item: The item, or its key alone.
        schema: Names and types of the key's attributes.

    Raises:
        KeyMismatchError: A part of the key is missing or of another type.
        ServiceError: A part of the key is empty.
    """
    for name, kind in schema.items():
        if kind not in item.get(name, {}):
            raise KeyMismatchError(f"key attribute {name} must be of type {kind}")
        if not item[name][kind]:
            raise validation(f"key attribute {name} must not be empty")
    return tuple(plain(item[name]) for name in schema)


def plain(value: Value) -> Any:
    """Return the Python value of an attribute."""
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return Decimal(content)
        case "L":
            return [plain(element) for element in content]
        case "M":
            return {name: plain(member) for name, member in content.items()}
        case _:
            return content


def size_of(item: Item) -> int:
    """Return the item's size; DynamoDB guide, "Item sizes and formats".

    A number without the zeros at its ends takes a byte for two digits and one more, as
    was observed for whole numbers that are not negative.
    """
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def write_units(item: Item) -> int:
    """Return the units of a plain write; a transactional one takes twice as many."""
    return max(1, -(-size_of(item) // WRITE_UNIT_BYTES))


def _value_size(value: Value) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return (len(content.strip("0")) + 1) // 2 + 1
        case "M":
            return _NESTING_BYTES + size_of(content) + len(content)
        case "L":
            return _NESTING_BYTES + sum(_value_size(element) + 1 for element in content)
        case _:
            return 1


def holds(request: Mapping[str, Any], item: Item | None) -> bool:
    """Return whether the request's condition holds for the current item."""
    condition = request.get("ConditionExpression")
    if condition is None:
        return True
    match = _CONDITION.fullmatch(condition)
    if match is None:
        return _holds_by_moto(request, item or {})
    exists = item is not None and match[2] in item
    return exists is not bool(match[1])


def _holds_by_moto(request: Mapping[str, Any], item: Item) -> bool:
    """Evaluate a condition that is not the worker's with moto."""
    condition = get_filter_expression(
        request["ConditionExpression"],
        request.get("ExpressionAttributeNames"),
        request.get("ExpressionAttributeValues"),
    )
    key = DynamoType({"S": ""})
    return bool(condition.expr(MotoItem(key, None, dict(item))))


def updated(request: Mapping[str, Any], item: Item | None) -> dict[str, Any]:
    """Return the new values of the attributes that an update changes; None: removed."""
    names = request.get("ExpressionAttributeNames", {})
    values = request.get("ExpressionAttributeValues", {})
    changed: dict[str, Any] = {}
    if _CLAUSE.sub("", request["UpdateExpression"]):
        raise validation("not modelled: the update")
    for action, changes, _, removed in _CLAUSE.findall(request["UpdateExpression"]):
        for name in removed.split(", ") if removed else ():
            changed[names.get(name, name)] = None
        for name, placeholder in _CHANGE.findall(changes):
            attribute, value = names.get(name, name), values[placeholder]
            if action == "ADD":
                old = (item or {}).get(attribute, {"N": "0"})
                value = {"N": str(plain(old) + plain(value))}
            changed[attribute] = value
    return changed
