"""Tables by hand, for runs and tests that need no template."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from simulation.aws.items import Address, Item, key_of
from simulation.aws.tables import KEYS, SCHEMA, TICKETS
from ticketctl.aws.stack import System


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


@contextmanager
def restored_tables(
    stack: System, name: str, items: Iterable[Item]
) -> Iterator[tuple[str, str]]:
    """Have a table of tickets and one of keys beside the stack's, with these items."""
    dynamodb = stack.client("dynamodb")
    names = f"{name}-tickets", f"{name}-keys"
    create_table(dynamodb, names[0], project_id="S", number="N")
    create_table(dynamodb, names[1], id="S")
    for item in items:
        dynamodb.put_item(TableName=names["id" in item], Item=item)
    try:
        yield names
    finally:
        for table in names:
            dynamodb.delete_table(TableName=table)
