"""The model, moto and the emulator behave as AWS, with the listed exceptions.

`python -m tests.integration.test_conformance` prints the list.
"""

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import boto3
import pytest
from moto import mock_aws

from tests.support.backends import Backend, backend_of, model_backend
from tests.support.conformance.case import Case
from tests.support.conformance.messages import MESSAGES
from tests.support.conformance.single_items import SINGLE_ITEMS
from tests.support.conformance.transactions import TRANSACTIONS
from ticketctl.local.clients import Clients
from ticketctl.local.emulator import running_emulator

PROOF: Final = Path(__file__).parents[2] / "docs" / "proof.md"
CASES: Final[tuple[Case, ...]] = (*SINGLE_ITEMS, *TRANSACTIONS, *MESSAGES)
DIFFERENT: Final = [case for case in CASES if case.instead]
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


def markdown() -> str:
    """Return the differences as a table."""
    heads = ("case", "source", "AWS", "moto", "emulator")
    rows: list[tuple[str, ...]] = [heads, ("---",) * len(heads)]
    rows += [
        (
            case.name,
            "observed" if case.observed else "documented",
            shown(case.aws),
            *(shown(case.instead.get(name, "=")) for name in ("moto", "emulator")),
        )
        for case in DIFFERENT
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def shown(outcome: Any) -> str:
    """Return an outcome for the table; of a transaction also the items."""
    if isinstance(outcome, tuple):
        code, written = outcome
        return f"{code}; {', '.join(written) or 'nothing'}"
    return str(outcome)


def test_page_shows_the_list_when_it_is_printed() -> None:
    assert markdown() in PROOF.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.stdout.write(markdown() + "\n")
