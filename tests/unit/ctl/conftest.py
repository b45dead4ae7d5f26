"""A site for each test of a command that writes tickets."""

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from tests.support.command_site import Site
from tests.support.tables import create_table


@pytest.fixture(scope="module")
def session() -> Iterator[boto3.Session]:
    """Return a session that makes clients of moto, and reads their models once."""
    with mock_aws():
        yield boto3.Session()


@pytest.fixture
def site(
    session: boto3.Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Site]:
    dynamodb = session.client("dynamodb")
    create_table(dynamodb, "tickets", project_id="S", number="N")
    create_table(dynamodb, "keys", id="S")
    yield Site(dynamodb, tmp_path, capsys)
    for table in ("tickets", "keys"):
        dynamodb.delete_table(TableName=table)
