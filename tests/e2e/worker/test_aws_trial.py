"""`make test-aws` from end to end, on an emulator with access control."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import pytest
from botocore.credentials import Credentials
from samtranslator.yaml_helper import yaml_parse

from induction.axioms import AXIOMS
from tests.support.access_control import access_control
from tests.support.paths import ROOT
from ticketctl.aws.queues import MAX_ENTRIES
from ticketctl.local.artifact import build_artifact
from ticketctl.local.clients import OWNER, REGION, Clients
from ticketctl.local.deployment import FUNCTION, simplify_alarms
from ticketctl.local.emulator import Emulator, running_emulator
from ticketctl.local.stack import TEMPLATE

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
        [sys.executable, "-m", "tests.aws", *options],
        cwd=ROOT,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what `make package` builds, as far as the emulator takes it."""
    build = tmp_path_factory.mktemp("build")
    document = yaml_parse(TEMPLATE.read_text(encoding="utf-8"))
    simplify_alarms(document)
    # The emulator's polling stops at a number that it got as a parameter's text.
    worker = document["Resources"][FUNCTION]["Properties"]
    mapping = worker["Events"]["CreateTicketMessages"]["Properties"]
    mapping["ScalingConfig"] = {"MaximumConcurrency": 4}
    (build / "template.yaml").write_text(json.dumps(document, default=str))
    with ZipFile(build_artifact()) as artifact:
        artifact.extractall(build / FUNCTION)
    return build


def resources(owner: Clients) -> set[str]:
    """Return the kinds of resources that the account has."""
    client = owner.client
    stacks = client("cloudformation").describe_stacks()["Stacks"]
    found: dict[str, Any] = {
        "stack": [one for one in stacks if one["StackStatus"] != "DELETE_COMPLETE"],
        "table": client("dynamodb").list_tables()["TableNames"],
        "queue": client("sqs").list_queues().get("QueueUrls"),
        "topic": client("sns").list_topics()["Topics"],
        "function": client("lambda").list_functions()["Functions"],
        "mapping": client("lambda").list_event_source_mappings()["EventSourceMappings"],
        "role": client("iam").list_roles()["Roles"],
        "log": client("logs").describe_log_groups()["logGroups"],
        "alarm": client("cloudwatch").describe_alarms()["MetricAlarms"],
        "dashboard": client("cloudwatch").list_dashboards()["DashboardEntries"],
        "bucket": client("s3").list_buckets()["Buckets"],
    }
    return {kind for kind, some in found.items() if some}


def test_report_has_what_was_seen_when_the_run_is_over(
    emulator: Emulator, user: Credentials, owner: Clients, tmp_path: Path
) -> None:
    path = tmp_path / "reports" / "report.json"

    with start(
        emulator, user, "--yes", "--seconds", "2", "--report", str(path)
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
    [one] = [part for part in report["contention"].values() if part["projects"] == 1]
    assert one["cancellations"]["failed_conditions"] > 0 < one["reads"]["queries"]
    assert report["transactional_read"]["tickets"] > 0
    assert owner.client("dynamodb").list_tables()["TableNames"] == []


def test_nothing_is_created_when_nobody_agrees(
    emulator: Emulator, user: Credentials, owner: Clients, tmp_path: Path
) -> None:
    path = tmp_path / "report.json"

    with start(emulator, user, "--report", str(path)) as process:
        _, remarks = process.communicate()

    assert process.returncode != 0
    assert "costs less than $" in remarks
    assert owner.client("dynamodb").list_tables()["TableNames"] == []


def test_report_has_the_axioms_and_the_stack_when_the_run_is_over(
    emulator: Emulator, owner: Clients, build: Path, tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    options = ["--yes", "--seconds", "2", "--report", str(path)]

    with start(emulator, OWNER, *options, "--full", str(build)) as process:
        _, remarks = process.communicate()

    assert process.returncode == 0, remarks
    assert "then creates the bucket and the stack numbering-check-" in remarks
    report = json.loads(path.read_text())
    assert report["contradicted"] == []
    assert any("throttled invocations" in line for line in report["cannot_show"])
    assert [row["axiom"] for row in report["axioms"]] == [one.text for one in AXIOMS]
    assert not [row for row in report["axioms"] if row["seen"].startswith("0 ")]
    stack = report["stack"]
    assert stack["load"]["redriven"] == MAX_ENTRIES
    assert stack["load"]["announced_again"] > 0
    assert stack["tickets"] == stack["verify"]["announced"] + stack["load"]["announced"]
    assert report["dollars"] > stack["dollars_at_most"] > 0
    # The emulator makes a log group again for a late line of the function.
    assert resources(owner) <= {"log"}


def test_stack_is_deleted_when_it_is_interrupted(
    emulator: Emulator, owner: Clients, build: Path, tmp_path: Path
) -> None:
    options = ["--yes", "--seconds", "1", "--report", str(tmp_path / "report.json")]

    with start(emulator, OWNER, *options, "--full", str(build)) as process:
        assert process.stderr
        while "messages sent twice" not in process.stderr.readline():
            assert process.poll() is None
        there, dynamodb = resources(owner), owner.client("dynamodb")
        tables = [
            dynamodb.describe_table(TableName=name)["Table"]
            for name in dynamodb.list_tables()["TableNames"]
        ]
        process.send_signal(signal.SIGINT)
        remarks = process.stderr.read()

    assert process.returncode == 130, remarks
    assert len(there) == 11
    # AWS would not delete one; the emulator does.
    assert not [one for one in tables if one["DeletionProtectionEnabled"]]
    # The emulator lets a function that still runs write a log again.
    assert resources(owner) <= {"log"}
