"""The check of `make test-aws`, from end to end on an emulator with access control."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.support.access_control import access_control
from tests.support.markdown_commands import ROOT
from ticketctl.local.clients import OWNER, REGION, Clients
from ticketctl.local.emulator import Emulator, running_emulator

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
def environment(emulator: Emulator, owner: Clients) -> Mapping[str, str]:
    """Return the environment of a user with the documented rights."""
    permissions = PERMISSIONS.read_text(encoding="utf-8")
    iam = owner.client("iam")
    iam.create_user(UserName="check")
    iam.put_user_policy(UserName="check", PolicyName="p", PolicyDocument=permissions)
    key = iam.create_access_key(UserName="check")["AccessKey"]
    return os.environ | {
        "AWS_ENDPOINT_URL": emulator.endpoint_url,
        "AWS_CA_BUNDLE": str(emulator.ca_bundle),
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
        "PYTHONPATH": "src:lab",
    }


def start(environment: Mapping[str, str], *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603 - our own command.
        [sys.executable, "-m", "tests.aws", *options],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.emulator
class TestRun:
    """Its rights are enough, and it leaves a report and no table."""

    def test_report_has_what_was_seen_when_the_run_is_over(
        self, environment: Mapping[str, str], owner: Clients, tmp_path: Path
    ) -> None:
        path = tmp_path / "reports" / "report.json"

        with start(
            environment, "--yes", "--seconds", "2", "--report", str(path)
        ) as process:
            _, remarks = process.communicate()

        assert process.returncode == 0, remarks
        assert "creates two on-demand tables, numbering-check-" in remarks
        report = json.loads(path.read_text())
        assert report["contradicted"] == []
        assert report["cannot_show"]
        assert {"TransactWriteItems", "Query"} <= report["latencies_ms"].keys()
        for times in report["latencies_ms"].values():
            assert 0 < times["p50"] <= times["p90"] <= times["p99"]
        assert report["units"]["write"] > 0 < report["dollars"]
        assert report["tables"]["last_numbers"]["ONE"] > 0
        [one] = [
            part for part in report["contention"].values() if part["projects"] == 1
        ]
        assert one["cancellations"]["failed_conditions"] > 0 < one["reads"]["queries"]
        assert report["transactional_read"]["tickets"] > 0
        assert owner.client("dynamodb").list_tables()["TableNames"] == []

    def test_nothing_is_created_when_nobody_agrees(
        self, environment: Mapping[str, str], owner: Clients, tmp_path: Path
    ) -> None:
        path = tmp_path / "report.json"

        with start(environment, "--report", str(path)) as process:
            _, remarks = process.communicate()

        assert process.returncode != 0
        assert "costs less than $" in remarks
        assert owner.client("dynamodb").list_tables()["TableNames"] == []
