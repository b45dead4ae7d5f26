"""Conditions on an item that was read before it is written."""

from collections.abc import Iterable, Mapping
from typing import Any

from ticketctl.aws.items import serialized


def unchanged(found: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the condition that these attributes are as found, as a request has it.

    An attribute that was not found must not be there; of an absent item there is none.
    """
    conditions = [
        f"#{name} = :{name}" if name in found else f"attribute_not_exists(#{name})"
        for name in names
    ]
    values = {f":{name}": found[name] for name in names if name in found}
    return {
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": {f"#{name}": name for name in names},
        # DynamoDB refuses an empty one.
        **({"ExpressionAttributeValues": serialized(values)} if values else {}),
    }
