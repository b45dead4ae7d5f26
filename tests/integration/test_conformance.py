"""The model, moto and the emulator behave as AWS, with the listed exceptions."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import boto3
import pytest
from moto import mock_aws

from conformance.backends import Backend, backend_of, model_backend
from conformance.case import Case
from conformance.suite import CASES, markdown
from tests.support.paths import ROOT
from ticketctl.local.clients import Clients
from ticketctl.local.emulator import running_emulator

PROOF: Final = ROOT / "docs" / "proof.md"
moto_client: Final[Any] = cache(boto3.client)
EMULATOR: Final = pytest.param("emulator", marks=pytest.mark.emulator)


@pytest.fixture(scope="module")
def emulator_clients() -> Iterator[Clients]:
    with running_emulator() as emulator, Clients(emulator.endpoint_url) as clients:
        yield clients


@pytest.fixture(params=["model", "moto", EMULATOR])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Return an empty backend of each kind."""
    match request.param:
        case "model":
            yield model_backend()
        case "moto":
            with mock_aws():
                yield backend_of("moto", moto_client)
        case _:
            clients = request.getfixturevalue("emulator_clients")
            yield backend_of("emulator", clients.client)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_backend_does_what_aws_does_when_it_is_called(
    backend: Backend, case: Case
) -> None:
    assert case.outcome(backend) == case.expected(backend.name)


def test_page_shows_the_list_when_it_is_printed() -> None:
    assert markdown() in PROOF.read_text(encoding="utf-8")
