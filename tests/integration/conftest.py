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


def empty_store(client: Any, retention_days: int = 0) -> DynamoDBTicketStore:
    """Return a store on two tables that no other test uses."""
    serial = next(serials)
    tickets, keys = f"tickets-{serial}", f"idempotency-keys-{serial}"
    create_table(client, tickets, project_id="S", number="N")
    create_table(client, keys, id="S")
    return DynamoDBTicketStore(client, tickets, keys, retention_days)
