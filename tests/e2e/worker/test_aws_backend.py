"""`make test-aws` from end to end, on an emulator with access control."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from botocore.credentials import Credentials

from induction.axioms import AXIOMS
from tests.support.access_control import access_control
from tests.support.paths import ROOT
from ticketctl.local.clients import OWNER, REGION, Clients
from ticketctl.local.emulator import Emulator, running_emulator

pytestmark = pytest.mark.emulator


PERMISSIONS: Final = ROOT / "docs" / "examples" / "check-permissions.json"


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    settings = access_control(tmp_path_factory.mktemp("certificate"))
    with running_emulator(settings=settings) as running:
        yield running


@pytest.fixture(scope="module")
def owner(emulator: Emulator) -> Iterator[Clients]:
    with Clients(emulator.endpoint_url, OWNER, emulator.ca_bundle) as clients:
        yield clients


@pytest.fixture(scope="module")
def user(owner: Clients) -> Credentials:
    """Return the credentials of a user with the documented rights."""
    permissions = PERMISSIONS.read_text(encoding="utf-8")
    iam = owner.client("iam")
    iam.create_user(UserName="check")
    iam.put_user_policy(UserName="check", PolicyName="p", PolicyDocument=permissions)
    key = iam.create_access_key(UserName="check")["AccessKey"]
    return Credentials(key["AccessKeyId"], key["SecretAccessKey"])


def start(
    emulator: Emulator, credentials: Credentials, *options: str
) -> "subprocess.Popen[str]":
    """Start the check as `make test-aws` does."""
    variables = {
        "AWS_ENDPOINT_URL": emulator.endpoint_url,
        "AWS_CA_BUNDLE": str(emulator.ca_bundle),
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_key,
        "PYTHONPATH": "src:lab",
    }
    return subprocess.Popen(  # noqa: S603 - our own command.
        [sys.executable, "-m", "conformance", "aws", *options],
        cwd=ROOT,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def tables(owner: Clients) -> list[str]:
    names: list[str] = owner.client("dynamodb").list_tables()["TableNames"]
    return names


def test_report_has_what_was_seen_of_each_fact_when_the_run_is_over(
    emulator: Emulator, user: Credentials, owner: Clients, tmp_path: Path
) -> None:
    path = tmp_path / "reports" / "report.json"

    with start(
        emulator, user, "--yes", "--batches", "4", "--report", str(path)
    ) as process:
        _, notes = process.communicate()

    assert process.returncode == 0, notes
    assert "creates 3 on-demand tables, numbering-check-" in notes
    report = json.loads(path.read_text())
    assert report["contradicted"] == []
    assert report["cannot_show"]
    facts = [axiom.text for axiom in AXIOMS if "condition, not" not in axiom.source]
    assert [row["axiom"] for row in report["axioms"]] == facts
    assert not [row for row in report["axioms"] if row["seen"].startswith("0 ")]
    assert report["counts"]["blocks cancelled"] > 0
    assert tables(owner) == []


def test_nothing_is_created_when_nobody_agrees(
    emulator: Emulator, user: Credentials, owner: Clients, tmp_path: Path
) -> None:
    with start(emulator, user, "--report", str(tmp_path / "report.json")) as process:
        _, notes = process.communicate()

    assert process.returncode != 0
    assert "some 3 minutes" in notes
    assert "costs less than $" in notes
    assert tables(owner) == []


def test_tables_are_deleted_when_the_run_is_interrupted(
    emulator: Emulator, owner: Clients, tmp_path: Path
) -> None:
    options = ["--yes", "--batches", "1000", "--report", str(tmp_path / "report.json")]

    with start(emulator, OWNER, *options) as process:
        assert process.stderr
        while "workers that contend" not in process.stderr.readline():
            assert process.poll() is None
        there = tables(owner)
        process.send_signal(signal.SIGINT)
        notes = process.stderr.read()

    assert process.returncode == 130, notes
    assert len(there) == 3
    assert tables(owner) == []
