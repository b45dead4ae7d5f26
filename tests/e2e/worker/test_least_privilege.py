"""The worker's role, where every call needs a right, is enough for the job.

The emulator checks rights and speaks TLS alone, because the template's policies deny
everything else. The function has a session of its role, and so have these tests.

The emulator does not check, so these tests do not show:

- Lambda's own calls with the role: it receives messages, and writes the log
  (which it cannot check: it knows a log group by its name alone, and AWS by more)
- rights to the keys that the queues, the topic and the tables are encrypted with
- a condition on a table's partitions (`dynamodb:LeadingKeys`); the role has none

That the role allows nothing else is for the template's tests to show.

IAM cannot forbid, here and on AWS, a put without a condition, over an item that is
there. That the worker puts nothing without a condition is for other tests to show.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from string import Template
from typing import Any

import pytest
from botocore import xform_name
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from tests.e2e.conftest import System
from tests.support.access_control import access_control
from tests.support.audits import numbers_of
from tests.support.builders import sqs_event, sqs_record, ticket_fields
from tests.support.markdown_commands import commands
from tests.support.paths import ROOT
from tests.support.paused_worker import paused_worker
from ticketctl.local.clients import Clients
from ticketctl.local.stack import LocalStack, local_stack

pytestmark = pytest.mark.emulator

DENIED = {"AccessDenied", "AccessDeniedException", "AuthorizationError"}


# `$Name` stands for an output of the stack.
QUEUE = {"QueueUrl": "$CreateTicketQueueUrl"}
DEAD_LETTERS = {"QueueUrl": "$DeadLetterQueueUrl"}
TOPIC = {"TopicArn": "$AssignmentsTopicArn"}

# A right that the worker uses, and whether a record fails without it.
NEEDED = {
    "dynamodb:Query": True,
    "dynamodb:PutItem": True,
    # The key's own condition tells, at the price of a write.
    "dynamodb:BatchGetItem": False,
    "sns:Publish*": True,
    "sqs:SendMessage*": True,
}

ALLOWED_BY_TLS: dict[str, dict[str, str]] = {
    "sqs:GetQueueAttributes": QUEUE,
    "sqs:SendMessage": DEAD_LETTERS | {"MessageBody": "x"},
    "sns:Publish": TOPIC | {"Message": "x"},
}


@dataclass(frozen=True)
class Caller:
    """Makes calls with some credentials."""

    clients: Clients
    outputs: Mapping[str, str]

    def make(self, operation: str, wanted: Mapping[str, Any]) -> Any:
        service, _, name = operation.partition(":")
        parameters = Template(json.dumps(wanted)).substitute(self.outputs)
        method = getattr(self.clients.client(service), xform_name(name))
        return method(**json.loads(parameters))


@contextmanager
def role_policy(stack: LocalStack, document: str) -> Iterator[None]:
    """Give the worker's role a further policy for a while."""
    iam = stack.client("iam")
    policy = {"RoleName": stack.outputs["WorkerRoleName"], "PolicyName": "further"}
    iam.put_role_policy(**policy, PolicyDocument=document)
    try:
        yield
    finally:
        iam.delete_role_policy(**policy)


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    settings = access_control(tmp_path_factory.mktemp("certificate"))
    parameters = {"MaximumConcurrency": "2", "UseLine": "true"}
    with local_stack(parameters, settings=settings) as stack:
        yield stack


@pytest.fixture(scope="module")
def role(deployed: LocalStack) -> Iterator[Caller]:
    """Make calls with the rights of the worker."""
    [role] = deployed.client("iam").list_roles()["Roles"]
    # The emulator lets the owner stand in for Lambda; AWS does not.
    session = deployed.client("sts").assume_role(
        RoleArn=role["Arn"], RoleSessionName="test"
    )["Credentials"]
    credentials = Credentials(
        session["AccessKeyId"], session["SecretAccessKey"], session["SessionToken"]
    )
    ca_bundle = deployed.emulator.ca_bundle
    with Clients(deployed.endpoint_url, credentials, ca_bundle) as clients:
        yield Caller(clients, deployed.outputs)


def invoke(stack: LocalStack, record: dict[str, Any]) -> tuple[list[Any], bool]:
    """Hand the worker a record; return its failures, and whether it was denied."""
    answer = stack.client("lambda").invoke(
        FunctionName=stack.function_name,
        Qualifier="live",
        Payload=json.dumps(sqs_event(record)),
        LogType="Tail",
    )
    log = base64.b64decode(answer["LogResult"]).decode()
    failures = json.load(answer["Payload"])["batchItemFailures"]
    return failures, any(code in log for code in DENIED)


def say_plain_http(params: dict[str, Any], **_: Any) -> None:
    """Make a request look as if a proxy had received it without TLS."""
    params["headers"]["X-Forwarded-Proto"] = "http"


class TestEnoughForTheJob:
    """With the role's rights alone, the worker does all that is promised."""

    def test_messages_are_numbered_announced_replayed_and_dead_lettered(
        self, system: System, project: str
    ) -> None:
        """Over TLS all the way, to a subscriber whose queue lets the topic send."""
        messages = [ticket_fields(project) for _ in range(4)]

        system.send("{nonsense", *messages)
        assert system.problems() == []
        system.send(messages[0])

        assert system.problems() == []
        assert system.replays(project) == [False] * 4 + [True]
        assert numbers_of(system.audit(project)) == (1, 2, 3, 4)

    def test_message_is_taken_by_the_role_when_it_waits(
        self, deployed: LocalStack, role: Caller
    ) -> None:
        """Lambda's own calls in the role's name, which the emulator does not check."""
        with paused_worker(deployed):
            queue_url = deployed.outputs["CreateTicketQueueUrl"]
            deployed.client("sqs").send_message(QueueUrl=queue_url, MessageBody="x")
            [message] = role.make("sqs:ReceiveMessage", QUEUE)["Messages"]
            receipt = {"ReceiptHandle": message["ReceiptHandle"]}
            role.make("sqs:DeleteMessage", QUEUE | receipt)

    @pytest.mark.parametrize("right", NEEDED)
    def test_worker_is_refused_when_a_right_is_denied(
        self, deployed: LocalStack, right: str
    ) -> None:
        """It works with its role's session; without a right it loses no message."""
        # A project of its own: a number that was just cached needs no query.
        ticket = ticket_fields(f"NEEDED-{[*NEEDED].index(right)}")
        body = "{nonsense" if right.startswith("sqs:") else ticket
        record = sqs_record(body, receive_count=2)

        denial = {"Effect": "Deny", "Action": right, "Resource": "*"}
        with role_policy(deployed, json.dumps({"Statement": [denial]})):
            failures, was_denied = invoke(deployed, record)
        assert (bool(failures), was_denied) == (NEEDED[right], True)

        assert invoke(deployed, record) == ([], False)

    def test_worker_does_nothing_while_the_fence_of_the_page_is_there(
        self, deployed: LocalStack, role: Caller
    ) -> None:
        """No number, no message that counts a delivery; and all goes on after it."""
        page = (ROOT / "docs" / "recovery.md").read_text(encoding="utf-8")
        [put] = [
            command
            for command in commands("aws", page)
            if "put-role-policy" in command.words
        ]
        record = sqs_record(ticket_fields("FENCED"))

        with role_policy(deployed, put.words[-1]):
            failures, was_denied = invoke(deployed, record)
            with pytest.raises(ClientError, match="explicit deny"):
                role.make("sqs:ReceiveMessage", QUEUE)

        assert (bool(failures), was_denied) == (True, True)
        assert invoke(deployed, record) == ([], False)


class TestEncryptedInTransit:
    """Without TLS the policies of queues and topic deny the role's calls."""

    @pytest.mark.parametrize("operation", ALLOWED_BY_TLS)
    def test_call_is_denied_when_it_did_not_come_by_tls(
        self, role: Caller, operation: str
    ) -> None:
        """As behind a proxy that ends TLS: the emulator itself speaks nothing else."""
        allowed = ALLOWED_BY_TLS[operation]
        role.make(operation, allowed)
        events = role.clients.client(operation.partition(":")[0]).meta.events
        events.register("before-call", say_plain_http)

        with pytest.raises(ClientError) as caught:
            role.make(operation, allowed)
        events.unregister("before-call", say_plain_http)

        error = caught.value.response["Error"]
        assert error["Code"] in DENIED
        assert "with an explicit deny in a resource-based policy" in error["Message"]
