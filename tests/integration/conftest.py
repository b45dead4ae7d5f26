"""Every ticket store that answers to the contract suite, with tables of its own."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.support.fakes import FakeTicketStore
from tests.support.tables import create_table
from ticket_numbering.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.ports import TicketStore
from ticketctl.local.clients import Clients
from ticketctl.local.emulator import running_emulator

# One for all: every case has its names in the one emulator, whatever the order.
serials = count(1)


@pytest.fixture(scope="session")
def emulator_dynamodb() -> Iterator[Any]:
    """Return a client of an emulator that runs as long as the tests do."""
    with running_emulator() as emulator, Clients(emulator.endpoint_url) as clients:
        yield clients.client("dynamodb")


@pytest.fixture
def moto_dynamodb() -> Iterator[Any]:
    """Return a client that never leaves the process."""
    with mock_aws():
        yield boto3.client("dynamodb")


@pytest.fixture(
    params=["fake", "moto", pytest.param("emulator", marks=pytest.mark.emulator)]
)
def store(request: pytest.FixtureRequest) -> TicketStore:
    """Return an empty store of each kind."""
    if request.param == "fake":
        return FakeTicketStore()
    return empty_store(request.getfixturevalue(f"{request.param}_dynamodb"))


@pytest.fixture(params=["moto", pytest.param("emulator", marks=pytest.mark.emulator)])
def dynamodb(request: pytest.FixtureRequest) -> Any:
    """Return a client of each DynamoDB."""
    return request.getfixturevalue(f"{request.param}_dynamodb")


@pytest.fixture(
    params=["fake", "moto", pytest.param("emulator", marks=pytest.mark.emulator)]
)
def seeded_store(request: pytest.FixtureRequest) -> TicketStore:
    """Return a store whose project has a reserved number 3, and an imported 4."""
    if request.param == "fake":
        fake = FakeTicketStore()
        fake.elsewhere["PROJ"] = {3, 4}
        return fake
    client = request.getfixturevalue(f"{request.param}_dynamodb")
    store = empty_store(client, serial := next(serials))
    for number, more in {3: {"status": {"S": "reserved"}}, 4: {}}.items():
        item = {"project_id": {"S": "PROJ"}, "number": {"N": str(number)}, **more}
        item |= {"origin": {"S": "elsewhere"}, "title": {"S": "x" * 9}}
        client.put_item(TableName=f"tickets-{serial}", Item=item)
    return store


def empty_store(
    client: Any, serial: int | None = None, retention_days: int = 0
) -> DynamoDBTicketStore:
    """Return a store on two tables that no other test uses."""
    serial = next(serials) if serial is None else serial
    tickets, keys = f"tickets-{serial}", f"idempotency-keys-{serial}"
    create_table(client, tickets, project_id="S", number="N")
    create_table(client, keys, id="S")
    return DynamoDBTicketStore(client, tickets, keys, retention_days)
