"""Items in DynamoDB's types, as Python's values, as those of JSON; and their puts."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import DYNAMODB_CONTEXT, TypeDeserializer, TypeSerializer

from ticket_numbering.contract.dynamodb_items import assignment
from ticket_numbering.contract.field_types import timestamp
from ticketctl.ledger.item import Item, parse
from ticketctl.ledger.record import Record, parse_record

_deserialize = TypeDeserializer().deserialize
_serialize = TypeSerializer().serialize
_number = DYNAMODB_CONTEXT.create_decimal

Fields = Mapping[str, Any]


def plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a DynamoDB item as Python values."""
    return {
        # Most values are texts or numbers, and the deserializer is slow.
        name: value["S"]
        if "S" in value
        else _number(value["N"])
        if "N" in value
        else _deserialize(value)
        for name, value in item.items()
    }


def serialized(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return Python values as a DynamoDB item."""
    return {name: _serialize(value) for name, value in fields.items()}


def ledger_item(item: Mapping[str, Any]) -> Item:
    """Parse an item of the Tickets table."""
    return parse(plain(item))


def key_record(item: Mapping[str, Any]) -> Record:
    """Parse an item of the IdempotencyKeys table."""
    return parse_record(plain(item), assignment(item))


def timestamp_now() -> str:
    """Return the current time in the worker's form."""
    return timestamp(datetime.now(UTC))


def json_values(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as JSON values, including foreign types."""
    document: dict[str, Any] = json.loads(json.dumps(fields, default=_json_value))
    return document


def _json_value(value: Any) -> Any:
    match value:
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case set():
            return list(value)
        case _:
            return repr(value)


def put_or_check(
    table: str, key: Fields, item: Fields | None, before: Fields, names: Sequence[str]
) -> dict[str, Any]:
    """Return the put of an item, or the check of one, if it is unchanged since a read.

    `before` is the item as it was read, empty if it was absent; the names are those of
    the attributes that must be unchanged, also absent ones.
    """
    conditions = [
        f"#{name} = :{name}" if name in before else f"attribute_not_exists(#{name})"
        for name in names
    ]
    values = {f":{name}": before[name] for name in names if name in before}
    action = {
        "TableName": table,
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": {f"#{name}": name for name in names},
        # DynamoDB rejects an empty object.
        **({"ExpressionAttributeValues": serialized(values)} if values else {}),
    }
    if item is None:
        return {"ConditionCheck": action | {"Key": key}}
    return {"Put": action | {"Item": serialized(item)}}
