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

from tests.e2e.conftest import System
from tests.sam.conftest import run_sam
from tests.sam.test_build import MACHINES, binaries
from tests.support.builders import ticket_fields
from tests.support.template_loader import source
from ticketctl.audit.audit import ProjectAudit
from ticketctl.local.artifact import ROOT, build_artifact
from ticketctl.local.clients import Clients
from ticketctl.local.emulator import Emulator, running_emulator
from ticketctl.local.stack import LocalStack
from ticketctl.system.queues import subscribe

CONFIGURATION = "--config-file", str(ROOT / "samconfig.toml"), "--config-env", "dev"
STACK = "ticket-numbering-dev"

HOLDS_DATA = {
    "AWS::SQS::Queue",
    "AWS::DynamoDB::Table",
    "AWS::SNS::Topic",
    "AWS::Logs::LogGroup",
}


@dataclass
class Account:
    """What stands in for an account, and the commands that a person gives."""

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
        return machines

    def deploy(self, *arguments: str) -> str:
        """Deploy to the environment `dev`; return what was printed."""
        template = str(self.build / "template.yaml")
        printed = self._sam("deploy", "--template-file", template, *arguments)
        self._let_deliver()
        return printed

    def delete(self) -> None:
        """Delete the stack."""
        self._sam("delete", "--no-prompts")

    def data(self) -> dict[str, str]:
        """Return the physical ids of all resources that hold data."""
        answer = self.clients.client("cloudformation").describe_stack_resources(
            StackName=STACK
        )
        return {
            each["LogicalResourceId"]: each["PhysicalResourceId"]
            for each in answer["StackResources"]
            if each["ResourceType"] in HOLDS_DATA
        }

    def status(self) -> str:
        """Return the state of the stack."""
        stacks = self.clients.client("cloudformation").list_stacks()
        [status] = [
            each["StackStatus"]
            for each in stacks["StackSummaries"]
            if each["StackName"] == STACK
        ]
        return str(status)

    def executed_change_sets(self) -> int:
        """Return how many change sets were carried out."""
        answer = self.clients.client("cloudformation").list_change_sets(StackName=STACK)
        states = [each["ExecutionStatus"] for each in answer["Summaries"]]
        return states.count("EXECUTE_COMPLETE")

    def stack(self) -> LocalStack:
        """Return the deployed system."""
        answer = self.clients.client("cloudformation").describe_stacks(StackName=STACK)
        [found] = answer["Stacks"]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in found["Outputs"]}
        function_name = outputs["WorkerFunctionName"]
        return LocalStack(self.emulator, self.clients, outputs, function_name)

    def live_function(self) -> dict[str, Any]:
        """Return the configuration of the version that gets the messages."""
        configuration: dict[str, Any] = self.clients.client(
            "lambda"
        ).get_function_configuration(
            FunctionName=self.stack().function_name, Qualifier="live"
        )
        return configuration

    def _let_deliver(self) -> None:
        """Give the emulator a number where it took the text of a parameter."""
        function = self.clients.client("lambda")
        for mapping in function.list_event_source_mappings()["EventSourceMappings"]:
            function.update_event_source_mapping(
                UUID=mapping["UUID"], ScalingConfig=mapping["ScalingConfig"]
            )

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


@dataclass
class Story:
    """What was seen while the system was deployed, updated and deleted."""

    machines: set[int]
    created: str
    change_sets: int
    outputs: set[str]
    first_live: dict[str, Any]
    first_data: dict[str, str]
    first_audit: ProjectAudit
    unchanged: str
    unchanged_change_sets: int
    updated: str
    second_live: dict[str, Any]
    second_data: dict[str, str]
    second_audit: ProjectAudit
    events: list[dict[str, Any]]
    replays: list[bool]
    status_after_deletion: str
    audit_after_deletion: ProjectAudit | None
    remaining: dict[str, set[str]]


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """Start an emulator that holds nothing."""
    with running_emulator() as emulator, Clients(emulator.endpoint_url) as clients:
        build = tmp_path_factory.mktemp("deploy") / "build"
        yield Account(emulator, clients, build)


@pytest.fixture(scope="module")
def story(account: Account) -> Story:
    """Build, deploy, deploy again, deploy a change, delete; with messages between."""
    machines = account.build_template()
    created = account.deploy()
    change_sets = account.executed_change_sets()
    stack = account.stack()
    system = System(stack, subscribe(stack, "deployed"))
    first_live, first_data = account.live_function(), account.data()
    messages = [ticket_fields("SAM") for _ in range(3)]
    send_and_wait(system, *messages[:2], announcements=2)
    first_audit = system.audit("SAM")

    unchanged = account.deploy()
    unchanged_change_sets = account.executed_change_sets()

    updated = account.deploy("--parameter-overrides", "LogLevel=ERROR")
    second_live, second_data = account.live_function(), account.data()
    system.stack = account.stack()
    send_and_wait(system, messages[0], messages[2], announcements=4)
    second_audit = system.audit("SAM")

    account.delete()
    left = remaining(account.clients)
    return Story(
        machines=machines,
        created=created,
        change_sets=change_sets,
        outputs=set(stack.outputs),
        first_live=first_live,
        first_data=first_data,
        first_audit=first_audit,
        unchanged=unchanged,
        unchanged_change_sets=unchanged_change_sets,
        updated=updated,
        second_live=second_live,
        second_data=second_data,
        second_audit=second_audit,
        events=system.events("SAM"),
        replays=system.replays("SAM"),
        status_after_deletion=account.status(),
        audit_after_deletion=system.audit("SAM") if left["tables"] else None,
        remaining=left,
    )


def send_and_wait(
    system: System, *messages: dict[str, Any], announcements: int
) -> None:
    """Send messages, and wait until so many announcements came in all."""
    system.send(*[json.dumps(message) for message in messages])
    system.wait_for(lambda: len(system.announced) >= announcements)
    system.settle()


def remaining(clients: Clients) -> dict[str, set[str]]:
    """Return what the account holds."""
    topics = clients.client("sns").list_topics()["Topics"]
    functions = clients.client("lambda").list_functions()["Functions"]
    return {
        "queues": set(clients.client("sqs").list_queues().get("QueueUrls", [])),
        "tables": set(clients.client("dynamodb").list_tables()["TableNames"]),
        "topics": {each["TopicArn"] for each in topics},
        "functions": {each["FunctionName"] for each in functions},
    }


class TestDeploy:
    """`sam deploy` makes the whole system, and it works."""

    def test_deploy_creates_the_stack_through_a_change_set(self, story: Story) -> None:
        """A person could have read it first."""
        assert "Changeset created successfully" in story.created
        assert "Successfully created/updated stack" in story.created
        assert story.change_sets == 1

    def test_deploy_gives_every_output(self, story: Story) -> None:
        """Those of the template; the SAM CLI prints them."""
        outputs = set(source()["Outputs"])

        assert story.outputs == outputs
        assert all(name in story.created for name in outputs)

    def test_deploy_takes_the_environments_parameters(self, story: Story) -> None:
        """`samconfig.toml` says what they are."""
        variables = story.first_live["Environment"]["Variables"]
        assert variables["POWERTOOLS_LOG_LEVEL"] == "DEBUG"

    def test_function_asks_for_the_processor_that_it_was_built_for(
        self, story: Story
    ) -> None:
        """A build and a deployment of one environment agree without being told."""
        [processor] = story.first_live["Architectures"]

        assert story.machines == {MACHINES[processor]}

    def test_worker_numbers_messages_when_deployed(self, story: Story) -> None:
        """From the queue to the topic, as in any account."""
        assert story.first_audit.numbers == (1, 2)
        assert story.first_audit.is_clean

    def test_deploy_does_nothing_when_nothing_changed(self, story: Story) -> None:
        """And that is no failure."""
        assert "No changes to deploy" in story.unchanged
        assert story.unchanged_change_sets == story.change_sets


class TestUpdate:
    """A changed parameter changes the worker, and touches no data."""

    def test_update_replaces_nothing_that_holds_data(self, story: Story) -> None:
        """Queues, tables, the topic and the log are the same as before."""
        assert "Successfully created/updated stack" in story.updated
        assert len(story.first_data) == 6
        assert story.second_data == story.first_data

    def test_update_keeps_tickets_and_keys(self, story: Story) -> None:
        """A request from before is a replay, a new one gets the next number."""
        assert story.second_audit.numbers == (1, 2, 3)
        assert story.second_audit.is_clean
        assert sorted(story.replays) == [False, False, False, True]
        assert {each["id"] for each in story.events} == {"SAM-1", "SAM-2", "SAM-3"}

    def test_update_reaches_the_version_that_gets_the_messages(
        self, story: Story
    ) -> None:
        """A change of a parameter alone publishes a version, too."""
        assert story.second_live["Version"] != story.first_live["Version"]
        assert (
            story.second_live["Environment"]["Variables"]["POWERTOOLS_LOG_LEVEL"]
            == "ERROR"
        )


class TestDelete:
    """`sam delete` removes what can be made again, and nothing else."""

    def test_delete_keeps_queues_and_tables(self, story: Story) -> None:
        """They hold what cannot be made again."""
        data = story.second_data

        assert story.status_after_deletion == "DELETE_COMPLETE"
        assert story.remaining["tables"] == {
            data["TicketsTable"],
            data["IdempotencyKeysTable"],
        }
        assert story.remaining["queues"] >= {
            data["CreateTicketQueue"],
            data["CreateTicketDeadLetterQueue"],
        }

    def test_delete_keeps_the_tickets(self, story: Story) -> None:
        """Every number and every key is still there."""
        assert story.audit_after_deletion == story.second_audit

    def test_delete_removes_the_worker_and_the_topic(self, story: Story) -> None:
        """Nothing is left that costs or does anything by itself."""
        assert story.remaining["functions"] == set()
        assert story.remaining["topics"] == set()
