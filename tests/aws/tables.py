"""Two tables of one run, which deletes them again."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from secrets import token_hex
from typing import Any, Final

from conformance.backends import Backend, create_table
from simulation.aws.items import Address, Item
from simulation.aws.tables import KEYS, SCHEMA, TICKETS, by_address
from ticketctl.cli.output import remark

PREFIX: Final = "numbering-check-"
_WAIT: Final = {"Delay": 2, "MaxAttempts": 90}
"""For three minutes; a table takes seconds."""


def table_names() -> Mapping[str, str]:
    """Return new names of the two tables."""
    run = token_hex(4)
    return {table: f"{PREFIX}{run}-{table}" for table in (TICKETS, KEYS)}


def is_aws(client: Any) -> bool:
    """Tell whether a client talks to AWS itself."""
    return ".amazonaws.com" in client.meta.endpoint_url


@contextmanager
def temporary_tables(client: Any, names: Mapping[str, str]) -> Iterator[Backend]:
    """Create tables on demand, and delete them however the block ends."""
    with ExitStack() as exits:
        for table, name in names.items():
            # Before the call: its answer may be lost, or Ctrl-C come first.
            exits.callback(_delete, client, name)
            create_table(client, name, **SCHEMA[table])
        for name in names.values():
            waiter = client.get_waiter("table_exists")
            waiter.wait(TableName=name, WaiterConfig=_WAIT)
        backend = "aws" if is_aws(client) else "emulator"
        yield Backend(backend, client, tickets=names[TICKETS], keys=names[KEYS])


@contextmanager
def named_if_left(command: str) -> Iterator[None]:
    """Print the command that deletes what the block fails to delete."""
    try:
        yield
    except BaseException:
        remark(f"if it is there: {command}")
        raise


def _delete(client: Any, name: str) -> None:
    with (
        named_if_left(f"aws dynamodb delete-table --table-name {name}"),
        suppress(client.exceptions.ResourceNotFoundException),
    ):
        while True:
            try:
                client.delete_table(TableName=name)
            except client.exceptions.ResourceInUseException:
                time.sleep(_WAIT["Delay"])
            else:
                return


def items_of(backend: Backend) -> Mapping[Address, Item]:
    """Return all items of the two tables, as DynamoDB has them."""
    return by_address(
        item
        for table in (backend.tickets, backend.keys)
        for item in _scan(backend.dynamodb, table)
    )


def empty(backend: Backend) -> None:
    """Delete all items."""
    delete = backend.dynamodb.delete_item
    names = {TICKETS: backend.tickets, KEYS: backend.keys}
    for table, name in names.items():
        for item in _scan(backend.dynamodb, name):
            key = {attribute: item[attribute] for attribute in SCHEMA[table]}
            delete(TableName=name, Key=key)


def _scan(client: Any, table: str) -> Iterator[Item]:
    pages = client.get_paginator("scan")
    for page in pages.paginate(TableName=table, ConsistentRead=True):
        yield from page["Items"]
