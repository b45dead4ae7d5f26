"""Backends and ticket stores, each with tables of its own."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from moto import mock_aws

from tests.support.backends import (
    Backend,
    emulator_backend,
    model_backend,
    moto_backend,
)
from tests.support.fakes import FakeTicketStore
from ticket_numbering.allocation.store import TicketStore
from ticketctl.local.clients import Clients
from ticketctl.local.emulator import running_emulator

BACKENDS: Final[tuple[Any, ...]] = (
    "model",
    "moto",
    pytest.param("emulator", marks=pytest.mark.emulator),
)


@pytest.fixture(scope="session")
def emulator_clients() -> Iterator[Clients]:
    """Start an emulator, which runs as long as the tests do."""
    with running_emulator() as emulator, Clients(emulator.endpoint_url) as clients:
        yield clients


@pytest.fixture
def mocked() -> Iterator[None]:
    """Let moto answer, in this process."""
    with mock_aws():
        yield


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Return an empty backend of each kind."""
    return _backend(request)


@pytest.fixture(params=["fake", *BACKENDS])
def store(request: pytest.FixtureRequest) -> TicketStore:
    """Return an empty store of each kind."""
    return FakeTicketStore() if request.param == "fake" else _backend(request).store()


@pytest.fixture(params=["fake", *BACKENDS])
def seeded_store(request: pytest.FixtureRequest) -> TicketStore:
    """Return a store whose project has a reserved number 3, and an imported 4."""
    if request.param == "fake":
        fake = FakeTicketStore()
        fake.elsewhere["PROJ"] = {3, 4}
        return fake
    backend = _backend(request)
    for number, more in {3: {"status": {"S": "reserved"}}, 4: {}}.items():
        item = {"project_id": {"S": "PROJ"}, "number": {"N": str(number)}, **more}
        item |= {"origin": {"S": "elsewhere"}, "title": {"S": "x" * 9}}
        backend.dynamodb.put_item(TableName=backend.tickets, Item=item)
    return backend.store()


def _backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "model":
        return model_backend()
    if request.param == "moto":
        request.getfixturevalue("mocked")
        return moto_backend()
    return emulator_backend(request.getfixturevalue("emulator_clients"))
