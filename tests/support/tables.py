"""Tables by hand, for runs and tests that need no template."""

from typing import Any


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
