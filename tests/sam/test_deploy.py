"""`sam deploy` and `sam delete`, from the built template to the emulator and back.

No container is needed for it.
"""

import json
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from samtranslator.yaml_helper import yaml_parse

from tests.e2e.conftest import System
from tests.sam.conftest import run_sam
from tests.sam.test_build import MACHINES, binaries
from tests.support.audits import numbers_of
from tests.support.builders import ticket_fields
from tests.support.paths import ROOT
from tests.support.template_loader import source
from tests.unit.template.test_template import REPLACEABLE
from ticketctl.aws.topic import subscribe
from ticketctl.local.artifact import build_artifact
from ticketctl.local.clients import Clients
from ticketctl.local.deployment import repair_concurrency, simplify_alarms
from ticketctl.local.emulator import Emulator, running_emulator
from ticketctl.local.stack import LocalStack

CONFIGURATION = "--config-file", str(ROOT / "samconfig.toml")
DEV = "--config-env", "dev"
STACK = "ticket-numbering-dev"


@dataclass
class Account:
    """A substitute for an account, and a person's commands."""

    emulator: Emulator
    clients: Clients
    build: Path

    def build_template(self) -> set[int]:
        """Build as before a deployment; return the processors of the binaries.

        The binaries are the runtime's, and the emulator runs the function on an
        interpreter of its own: after the build its packages take their place.
        """
        self._sam(
            *["build", "--template-file", str(ROOT / "template.yaml")],
            *["--build-dir", str(self.build), "--no-cached"],
        )
        artifact = self.build / "NumberingWorker"
        machines = set(binaries(artifact).values())
        shutil.rmtree(artifact)
        with zipfile.ZipFile(build_artifact()) as packages:
            packages.extractall(artifact)
        self._simplify()
        return machines

    def _simplify(self) -> None:
        """Leave out the parts that the emulator's CloudFormation rejects."""
        template = self.build / "template.yaml"
        document = yaml_parse(template.read_text(encoding="utf-8"))
        simplify_alarms(document)
        template.write_text(json.dumps(document, default=str), encoding="utf-8")

    def deploy(self, *arguments: str) -> str:
        template = str(self.build / "template.yaml")
        printed = self._sam("deploy", *DEV, "--template-file", template, *arguments)
        repair_concurrency(self.clients.client("lambda"))
        return printed

    def delete(self) -> None:
        self._sam("delete", *DEV, "--no-prompts")

    def data(self) -> dict[str, str]:
        """Return the physical ids of all resources that hold data."""
        answer = self.clients.client("cloudformation").describe_stack_resources(
            StackName=STACK
        )
        return {
            resource["LogicalResourceId"]: resource["PhysicalResourceId"]
            for resource in answer["StackResources"]
            if resource["ResourceType"] not in REPLACEABLE
        }

    def stack(self) -> LocalStack:
        answer = self.clients.client("cloudformation").describe_stacks(StackName=STACK)
        [stack] = answer["Stacks"]
        outputs = {
            output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]
        }
        return LocalStack(self.emulator, self.clients, outputs)

    def live_function(self) -> dict[str, Any]:
        function: dict[str, Any] = self.clients.client(
            "lambda"
        ).get_function_configuration(
            FunctionName=self.stack().function_name, Qualifier="live"
        )
        return function

    def _sam(self, command: str, *arguments: str) -> str:
        # Requests are signed with these; the emulator accepts any.
        credentials = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        result = run_sam(
            *[command, *CONFIGURATION, *arguments],
            cwd=self.build.parent,
            AWS_ENDPOINT_URL=self.emulator.endpoint_url,
            # Seconds between two looks at the stack.
            SAM_CLI_POLL_DELAY="0.5",
            **credentials,
        )
        return result.stdout


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with running_emulator() as emulator, Clients(emulator.endpoint_url) as clients:
        yield Account(emulator, clients, tmp_path / "build")


def numbers_after(
    system: System, *messages: dict[str, Any], announcements: int
) -> tuple[int, ...]:
    """Send messages, wait for this number of announcements, and return the numbers."""
    system.send(*messages)
    system.wait_for(lambda: len(system.announced) >= announcements)
    system.settle()
    assert system.audit("SAM").is_clean
    return numbers_of(system.audit("SAM"))


def test_system_is_deployed_updated_and_deleted_without_harm_to_its_data(
    account: Account,
) -> None:
    """By the SAM CLI's own commands, with messages between them."""
    machines = account.build_template()
    system, live = check_creation(account, machines)
    old, new = ticket_fields("SAM"), ticket_fields("SAM")
    assert numbers_after(system, old, announcements=1) == (1,)

    check_update(account, live)
    system.stack = account.stack()
    assert numbers_after(system, old, new, announcements=3) == (1, 2)
    assert sorted(system.replays("SAM")) == [False, False, True]

    check_deletion(account, system)


def check_creation(
    account: Account, machines: set[int]
) -> tuple[System, dict[str, Any]]:
    """Deploy; return the system, and the version that gets the messages."""
    printed = account.deploy()

    assert "Changeset created successfully" in printed
    assert all(name in printed for name in source()["Outputs"])
    stack, live = account.stack(), account.live_function()
    # `samconfig.toml` says it.
    assert live["Environment"]["Variables"]["POWERTOOLS_LOG_LEVEL"] == "DEBUG"
    # A build and a deployment of one environment name the same processor.
    assert machines == {MACHINES[processor] for processor in live["Architectures"]}
    return System(stack, subscribe(stack, "deployed")), live


def check_update(account: Account, live: dict[str, Any]) -> None:
    """Change nothing, then a parameter: it reaches the live version, and no data."""
    data = account.data()

    assert "No changes to deploy" in account.deploy()
    account.deploy("--parameter-overrides", "LogLevel=ERROR")

    updated = account.live_function()
    assert len(data) == 6
    assert account.data() == data
    assert updated["Version"] != live["Version"]
    assert updated["Environment"]["Variables"]["POWERTOOLS_LOG_LEVEL"] == "ERROR"


def check_deletion(account: Account, system: System) -> None:
    """Delete the stack: the data stays, and nothing else."""
    data, audited = account.data(), system.audit("SAM")

    account.delete()

    client = account.clients.client
    assert system.audit("SAM") == audited
    assert set(client("dynamodb").list_tables()["TableNames"]) == {
        data["TicketsTable"],
        data["IdempotencyKeysTable"],
    }
    assert set(client("sqs").list_queues()["QueueUrls"]) >= {
        data["CreateTicketQueue"],
        data["CreateTicketDeadLetterQueue"],
    }
    assert not client("lambda").list_functions()["Functions"]
    topics = client("sns").list_topics()["Topics"]
    assert [topic["TopicArn"] for topic in topics] == [data["AssignmentsTopic"]]
