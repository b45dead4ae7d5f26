"""Actions of a transaction on items that were read before."""

from collections.abc import Mapping, Sequence
from typing import Any

from ticketctl.aws.items import serialized

Fields = Mapping[str, Any]


def put_or_check(
    table: str, key: Fields, item: Fields | None, before: Fields, names: Sequence[str]
) -> dict[str, Any]:
    """Return the put of an item, on condition that it is as it was found.

    Args:
        table: The table's name.
        key: The item's key, in DynamoDB's types.
        item: The item to put; None only checks the one that is there.
        before: The item that was found; an absent one has no attributes.
        names: The attributes that must be as found, or absent if they were.
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
        # DynamoDB refuses an empty one.
        **({"ExpressionAttributeValues": serialized(values)} if values else {}),
    }
    if item is None:
        return {"ConditionCheck": action | {"Key": key}}
    return {"Put": action | {"Item": serialized(item)}}
