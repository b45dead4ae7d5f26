"""Backends, each with tables of its own."""

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
    if request.param == "model":
        return model_backend()
    if request.param == "moto":
        request.getfixturevalue("mocked")
        return moto_backend()
    return emulator_backend(request.getfixturevalue("emulator_clients"))
