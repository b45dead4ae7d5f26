"""Tables by hand, for runs and tests that need no template."""

from collections.abc import Iterable
from typing import Any

from simulation.aws.items import Address, Item, key_of
from simulation.aws.tables import KEYS, SCHEMA, TICKETS


def create_table(client: Any, name: str, **key: str) -> None:
    """Create a table: a partition key, and perhaps a sort key, of these types."""
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": attribute, "AttributeType": kind}
            for attribute, kind in key.items()
        ],
        KeySchema=[
            {"AttributeName": attribute, "KeyType": role}
            for attribute, role in zip(key, ("HASH", "RANGE"), strict=False)
        ],
    )


def address_of(item: Item) -> Address:
    """Return where an item of the stack's tables, or its key, belongs."""
    table = KEYS if "id" in item else TICKETS
    return Address(table, key_of(item, SCHEMA[table]))


def by_address(items: Iterable[Item]) -> dict[Address, Item]:
    return {address_of(item): item for item in items}
