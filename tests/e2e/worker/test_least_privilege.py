"""The worker's role where every call needs a right: enough for the job, and no more.

The emulator checks rights and speaks TLS alone, because the template's policies deny
everything else. The function has a session of its role, and so have these tests.

The emulator does not check, so these tests do not show:

- what Lambda does in the role's name: taking messages off the queue, writing the log
  (which it cannot check: it knows a log group by its name alone, and AWS by more)
- rights to the keys that the queues, the topic and the tables are encrypted with
- a condition on a table's partitions (`dynamodb:LeadingKeys`); the role has none

What IAM cannot forbid, here and on AWS: a put without a condition, over an item that is
there. That the worker puts nothing without a condition is for other tests to show.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from string import Template
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from tests.e2e.conftest import System
from tests.support.access_control import access_control
from tests.support.builders import sqs_event, sqs_record, ticket_fields
from tests.support.paused_worker import paused_worker
from ticketctl.local.clients import Clients, Credentials
from ticketctl.local.stack import LocalStack, local_stack

pytestmark = pytest.mark.emulator

DENIED = {"AccessDenied", "AccessDeniedException", "AuthorizationError"}


@dataclass(frozen=True)
class Call:
    """A call of an API, and the right that it needs."""

    operation: str
    parameters: Mapping[str, Any]
    """`$Name` stands for a deployed resource."""
    right: str
    """Mostly the operation."""

    def __str__(self) -> str:
        return f"{self.operation} {self.parameters}"[:60]


def call(operation: str, *, right: str | None = None, **parameters: Any) -> Call:
    return Call(operation, parameters, right or operation)


TICKETS = "$TicketsTableName"
KEYS = "$IdempotencyKeysTableName"
# The others do not exist: rights are checked first.
OTHER_TABLE = "$TicketsTableName-2"
QUEUE = {"QueueUrl": "$CreateTicketQueueUrl"}
DEAD_LETTERS = {"QueueUrl": "$DeadLetterQueueUrl"}
OTHER_QUEUE = {"QueueUrl": "$DeadLetterQueueUrl-2"}
TOPIC = {"TopicArn": "$AssignmentsTopicArn"}
OTHER_TOPIC = {"TopicArn": "$AssignmentsTopicArn-2"}

NUMBER = {"project_id": {"S": "NOBODY"}, "number": {"N": "1"}}
ID = {"id": {"S": "NOBODY#key"}}
IF_TITLED = {"ConditionExpression": "attribute_exists(title)"}
KEY_OF = {TICKETS: NUMBER, KEYS: ID, OTHER_TABLE: ID}
"""Items that do no harm to the tickets of other tests."""


def on_table(operation: str, table: str, **parameters: Any) -> Call:
    return call(f"dynamodb:{operation}", TableName=table, **parameters)


def on_item(operation: str, table: str, **parameters: Any) -> Call:
    return on_table(operation, table, Key=KEY_OF[table], **parameters)


def query(table: str) -> Call:
    name, value = next(iter(KEY_OF[table].items()))
    conditions = {
        "KeyConditionExpression": f"{name} = :value",
        "ExpressionAttributeValues": {":value": value},
    }
    return on_table("Query", table, **conditions)


def put(table: str) -> Call:
    item = {**KEY_OF[table], **NUMBER, "idempotency_key": {"S": "key"}}
    return on_table("PutItem", table, Item=item)


def update(table: str) -> Call:
    return on_item("UpdateItem", table, UpdateExpression="REMOVE title", **IF_TITLED)


def get_batch(*tables: str) -> Call:
    keys = {table: {"Keys": [KEY_OF[table]]} for table in tables}
    return call("dynamodb:BatchGetItem", RequestItems=keys)


def write_batch(table: str, **request: Any) -> Call:
    return call("dynamodb:BatchWriteItem", RequestItems={table: [request]})


def transaction(*parts: Call) -> Call:
    """Make calls one transaction, of which the first needs the right."""
    names = [part.operation[len("dynamodb:") :].removesuffix("Item") for part in parts]
    actions = [{name: part.parameters} for name, part in zip(names, parts, strict=True)]
    operation = "dynamodb:TransactWriteItems"
    return call(operation, right=parts[0].right, TransactItems=actions)


def send(queue: Mapping[str, str], **parameters: Any) -> list[Call]:
    message = {"MessageBody": "x", **parameters}
    return [
        call("sqs:SendMessage", **queue, **message),
        call("sqs:SendMessageBatch", **queue, Entries=[{"Id": "0", **message}]),
    ]


def publish(topic: Mapping[str, str]) -> list[Call]:
    entries = [{"Id": "0", "Message": "x"}]
    return [
        call("sns:Publish", **topic, Message="x"),
        call("sns:PublishBatch", **topic, PublishBatchRequestEntries=entries),
    ]


# A right that the worker uses, and whether a record fails without it.
NEEDED = {
    "dynamodb:Query": True,
    "dynamodb:PutItem": True,
    # The key's own condition tells, at the price of a write.
    "dynamodb:BatchGetItem": False,
    "sns:Publish*": True,
    "sqs:SendMessage*": True,
}

FORBIDDEN_WITH_DATA = [
    *(
        forbidden
        for table, neighbour in ((TICKETS, KEYS), (KEYS, TICKETS))
        for forbidden in (
            on_table("Scan", table),
            on_item("DeleteItem", table),
            update(table),
            write_batch(table, PutRequest={"Item": put(table).parameters["Item"]}),
            write_batch(table, DeleteRequest={"Key": KEY_OF[table]}),
            transaction(on_item("DeleteItem", table), put(neighbour)),
            transaction(update(table), put(neighbour)),
        )
    ),
    on_item("GetItem", TICKETS),
    get_batch(KEYS, TICKETS),
    query(KEYS),
    transaction(on_item("ConditionCheckItem", TICKETS, **IF_TITLED), put(KEYS)),
    call(
        "dynamodb:ExecuteStatement",
        Statement='DELETE FROM "$TicketsTableName" '
        "WHERE project_id = 'NOBODY' AND number = 1",
    ),
    *(on_item("GetItem", OTHER_TABLE), query(OTHER_TABLE), put(OTHER_TABLE)),
    *(get_batch(KEYS, OTHER_TABLE), transaction(put(OTHER_TABLE), put(KEYS))),
    *(*publish(OTHER_TOPIC), publish({"PhoneNumber": "+12065550100"})[0]),
    # Delayed, so that the worker does not get it when the role may send it.
    *(*send(QUEUE, DelaySeconds=900), *send(OTHER_QUEUE)),
    call("sqs:PurgeQueue", **QUEUE),
    call("sqs:PurgeQueue", **DEAD_LETTERS),
    call("sqs:ReceiveMessage", **DEAD_LETTERS),
    call("sqs:ReceiveMessage", **OTHER_QUEUE),
    call("sqs:DeleteMessage", **DEAD_LETTERS, ReceiptHandle="of nothing"),
]

ASSUME_ROLE = call("sts:AssumeRole", RoleArn="$RoleArn", RoleSessionName="again")
FORBIDDEN = [
    *FORBIDDEN_WITH_DATA,
    call("dynamodb:ListTables"),
    on_table("DeleteTable", TICKETS),
    on_table("UpdateTable", TICKETS, DeletionProtectionEnabled=False),
    on_table(
        "UpdateContinuousBackups",
        TICKETS,
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False},
    ),
    call("sqs:SetQueueAttributes", **QUEUE, Attributes={"RedrivePolicy": ""}),
    call("sqs:StartMessageMoveTask", SourceArn="$DeadLetterQueueArn"),
    call("sns:DeleteTopic", **TOPIC),
    call("lambda:UpdateFunctionCode", FunctionName="any", S3Bucket="any", S3Key="any"),
    call(
        "iam:PutRolePolicy", RoleName="$RoleName", PolicyName="all", PolicyDocument="{}"
    ),
    ASSUME_ROLE,
    call("cloudformation:DeleteStack", StackName="local"),
    call("cloudwatch:DisableAlarmActions", AlarmNames=["DeadLettersAlarm"]),
]


@dataclass(frozen=True)
class Caller:
    """Makes calls with some credentials."""

    clients: Clients
    names: Mapping[str, str]

    def make(self, wanted: Call) -> Any:
        service, _, operation = wanted.operation.partition(":")
        parameters = Template(json.dumps(wanted.parameters)).substitute(self.names)
        method = getattr(self.clients.client(service), xform_name(operation))
        return method(**json.loads(parameters))

    def error(self, wanted: Call) -> tuple[str, str]:
        """Make a call; return the code and message of the error, empty if it works."""
        try:
            self.make(wanted)
        except ClientError as error:
            return error.response["Error"]["Code"], error.response["Error"]["Message"]
        return "", ""


@contextmanager
def caller(
    stack: LocalStack, names: Mapping[str, str], session: Mapping[str, str]
) -> Iterator[Caller]:
    """Make calls with credentials, as IAM and STS name them."""
    credentials = Credentials(
        session["AccessKeyId"], session["SecretAccessKey"], session.get("SessionToken")
    )
    with Clients(stack.endpoint_url, credentials, stack.emulator.ca_bundle) as clients:
        yield Caller(clients, names)


@contextmanager
def changed_role(
    stack: LocalStack, names: Mapping[str, str], *, add: str = "", remove: str = ""
) -> Iterator[None]:
    """Give the role a right to everything, or take one away, for a while."""
    iam, role = stack.client("iam"), {"RoleName": names["RoleName"]}
    [policy] = iam.list_role_policies(**role)["PolicyNames"]
    document = iam.get_role_policy(**role, PolicyName=policy)["PolicyDocument"]
    changed = [*without(remove, document["Statement"])]
    if add:
        changed.append({"Effect": "Allow", "Action": add, "Resource": "*"})
    write = partial(iam.put_role_policy, **role, PolicyName=policy)
    write(PolicyDocument=json.dumps(document | {"Statement": changed}))
    try:
        yield
    finally:
        write(PolicyDocument=json.dumps(document))


def without(right: str, statements: list[dict[str, Any]]) -> Iterator[Any]:
    for statement in statements:
        actions = statement["Action"]
        listed = [actions] if isinstance(actions, str) else actions
        if kept := [action for action in listed if action != right]:
            yield statement | {"Action": kept}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    settings = access_control(tmp_path_factory.mktemp("certificate"))
    with local_stack({"MaximumConcurrency": "2"}, settings=settings) as stack:
        yield stack


@pytest.fixture(scope="module")
def names(deployed: LocalStack) -> dict[str, str]:
    [role] = deployed.client("iam").list_roles()["Roles"]
    return {"RoleName": role["RoleName"], "RoleArn": role["Arn"], **deployed.outputs}


@pytest.fixture(scope="module")
def role(deployed: LocalStack, names: dict[str, str]) -> Iterator[Caller]:
    """Make calls with the rights of the worker."""
    # The emulator lets the owner stand in for Lambda; AWS does not.
    session = deployed.client("sts").assume_role(
        RoleArn=names["RoleArn"], RoleSessionName="test"
    )
    with caller(deployed, names, session["Credentials"]) as role:
        yield role


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

        poison, *_ = system.send("{nonsense", *messages)
        letter = system.wait_for(lambda: system.dead_letter_of(poison))
        system.wait_for(lambda: len(system.events(project)) >= 4)
        system.send(messages[0])
        system.wait_for(lambda: len(system.events(project)) >= 5)

        assert letter is not None
        assert letter.attributes["ErrorMessage"].startswith("body: not JSON")
        assert system.replays(project) == [False] * 4 + [True]
        assert system.audit(project).is_clean
        assert system.audit(project).numbers == (1, 2, 3, 4)

    def test_message_is_taken_by_the_role_when_it_waits(
        self, deployed: LocalStack, role: Caller
    ) -> None:
        """Lambda's own calls in the role's name, which the emulator does not check."""
        with paused_worker(deployed):
            queue_url = deployed.outputs["CreateTicketQueueUrl"]
            deployed.client("sqs").send_message(QueueUrl=queue_url, MessageBody="x")
            [message] = role.make(call("sqs:ReceiveMessage", **QUEUE))["Messages"]
            receipt = {"ReceiptHandle": message["ReceiptHandle"]}
            role.make(call("sqs:DeleteMessage", **QUEUE, **receipt))

    @pytest.mark.parametrize("right", NEEDED)
    def test_worker_is_refused_when_a_right_is_taken_away(
        self, deployed: LocalStack, names: dict[str, str], right: str
    ) -> None:
        """It works with its role's session; without a right it loses no message."""
        # A project of its own: a number that was just cached needs no query.
        ticket = ticket_fields(f"NEEDED-{[*NEEDED].index(right)}")
        body = "{nonsense" if right.startswith("sqs:") else ticket
        record = sqs_record(body, receive_count=2)

        with changed_role(deployed, names, remove=right):
            failures, was_denied = invoke(deployed, record)
        assert (bool(failures), was_denied) == (NEEDED[right], True)

        assert invoke(deployed, record) == ([], False)


class TestNoMore:
    """Calls that the job does not need are denied."""

    @pytest.mark.parametrize("forbidden", FORBIDDEN, ids=str)
    def test_call_is_denied_when_the_role_lacks_the_right(
        self, role: Caller, forbidden: Call
    ) -> None:
        code, message = role.error(forbidden)

        assert code in DENIED
        assert f"not authorized to perform: {forbidden.right} " in message
        assert "because no identity-based policy allows" in message

    @pytest.mark.parametrize("forbidden", FORBIDDEN_WITH_DATA, ids=str)
    def test_call_is_let_through_when_the_role_is_given_the_right(
        self, deployed: LocalStack, names: dict[str, str], role: Caller, forbidden: Call
    ) -> None:
        """So the denials above are the role's doing, and would be missed."""
        with changed_role(deployed, names, add=forbidden.right):
            code, _ = role.error(forbidden)

        assert code not in DENIED

    def test_role_is_denied_when_an_administrator_asks_for_it(
        self, deployed: LocalStack, names: dict[str, str]
    ) -> None:
        """Lambda alone may act in the worker's name."""
        iam, user = deployed.client("iam"), {"UserName": "administrator"}
        statement = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.create_user(**user)
        iam.put_user_policy(**user, PolicyName="all", PolicyDocument=policy)
        key = iam.create_access_key(**user)["AccessKey"]

        with caller(deployed, names, key) as administrator:
            assert administrator.make(call("dynamodb:ListTables"))
            code, message = administrator.error(ASSUME_ROLE)

        assert code in DENIED
        assert "not authorized to perform: sts:AssumeRole" in message


@pytest.mark.parametrize(
    "allowed",
    [call("sqs:GetQueueAttributes", **QUEUE), send(DEAD_LETTERS)[0], publish(TOPIC)[0]],
    ids=str,
)
def test_call_is_denied_when_it_did_not_come_by_tls(
    role: Caller, allowed: Call
) -> None:
    """As behind a proxy that ends TLS: the emulator itself speaks nothing else."""
    role.make(allowed)
    service = allowed.operation.partition(":")[0]
    events = role.clients.client(service).meta.events
    events.register("before-call", say_plain_http)

    code, message = role.error(allowed)
    events.unregister("before-call", say_plain_http)

    assert code in DENIED
    assert "with an explicit deny in a resource-based policy" in message
