"""The worker's role where every call needs a right: enough for the job, and no more.

The emulator checks rights and speaks TLS alone, because the template's policies deny
everything else. The function has a session of its role, and so have these tests.

What the emulator does not check, and what these tests therefore do not show:

- what Lambda does in the role's name: taking messages off the queue, writing the log
  (which it cannot check: it knows a log group by its name alone, and AWS by more)
- rights to the keys that the queues, the topic and the tables are encrypted with
- `lambda:UpdateEventSourceMapping` and `lambda:DeleteEventSourceMapping`
- a condition on a table's partitions (`dynamodb:LeadingKeys`); the role has none
- the secret of the account's owner, as whom the tests deploy and look around

It asks for a right of its own for a batch (`sns:PublishBatch`, `sqs:SendMessageBatch`)
and for a statement (`dynamodb:ExecuteStatement`). On AWS a batch needs the right to a
single call, and a statement the right to its kind (`dynamodb:PartiQLDelete`).

What IAM cannot forbid, here and on AWS: a put without a condition, over an item that is
there. That the worker puts nothing without a condition is for other tests to show.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
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
from tests.support.cases import cases
from tests.support.paused_worker import paused_worker
from ticketctl.local.clients import Clients, Credentials
from ticketctl.local.stack import LocalStack, local_stack

pytestmark = pytest.mark.emulator

DENIED = {"AccessDenied", "AccessDeniedException", "AuthorizationError"}
NOT_KNOWN = {
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}


class Call:
    """A call of an API, and the right that it needs.

    Args:
        operation: Service and operation, such as `sqs:SendMessage`.
        right: If IAM calls it otherwise.
        parameters: Of the operation; `$Name` stands for what is deployed.
    """

    def __init__(
        self, operation: str, *, right: str | None = None, **parameters: Any
    ) -> None:
        """Take the call apart."""
        self.service, _, self.operation = operation.partition(":")
        self.right = right or operation
        self.parameters = json.dumps(parameters)

    def make(self, clients: Clients, names: Mapping[str, str]) -> Any:
        """Make the call."""
        parameters = Template(self.parameters).substitute(names)
        method = getattr(clients.client(self.service), xform_name(self.operation))
        return method(**json.loads(parameters))


@dataclass(frozen=True)
class Table:
    """A table, and calls that would do no harm to the tickets of other tests."""

    name: str
    key: Mapping[str, Any]
    item: Mapping[str, Any]

    def call(self, operation: str, **parameters: Any) -> Call:
        """Do something with the table."""
        return Call(f"dynamodb:{operation}", TableName=self.name, **parameters)

    def get(self) -> Call:
        """Read an item."""
        return self.call("GetItem", Key=self.key)

    def query(self) -> Call:
        """Read the items of a partition."""
        name, value = next(iter(self.key.items()))
        return self.call(
            "Query",
            KeyConditionExpression=f"{name} = :value",
            ExpressionAttributeValues={":value": value},
        )

    def put(self) -> Call:
        """Write an item, over another if there is one."""
        return self.call("PutItem", Item=self.item)

    def delete(self) -> Call:
        """Delete an item."""
        return self.call("DeleteItem", Key=self.key)

    def update(self) -> Call:
        """Change an item that is not there."""
        return self.call(
            "UpdateItem",
            Key=self.key,
            UpdateExpression="REMOVE title",
            ConditionExpression="attribute_exists(title)",
        )

    def check(self) -> Call:
        """Look for an item that is not there; only within a transaction."""
        return self.call(
            "ConditionCheckItem",
            Key=self.key,
            ConditionExpression="attribute_exists(title)",
        )

    def write_batch(self, kind: str) -> Call:
        """Put or delete items, as many as one likes."""
        content = {"Item": self.item} if kind == "Put" else {"Key": self.key}
        return Call(
            "dynamodb:BatchWriteItem",
            RequestItems={self.name: [{f"{kind}Request": content}]},
        )


NUMBER = {"project_id": {"S": "NOBODY"}, "number": {"N": "1"}}
ID = {"id": {"S": "NOBODY#key"}}
NAME = {"idempotency_key": {"S": "key"}}

TICKETS = Table("$TicketsTableName", NUMBER, NUMBER | NAME)
KEYS = Table("$IdempotencyKeysTableName", ID, ID | NUMBER | NAME)
OTHER_TABLE = Table("$TicketsTableName-2", ID, ID)
QUEUE = "$CreateTicketQueueUrl"
DEAD_LETTERS = "$DeadLetterQueueUrl"
OTHER_QUEUE = "$DeadLetterQueueUrl-2"
TOPIC = "$AssignmentsTopicArn"
OTHER_TOPIC = "$AssignmentsTopicArn-2"

RECEIPT = {"ReceiptHandle": "of nothing"}
ITS_FUNCTION = {"FunctionName": "$WorkerFunctionName"}
ITS_ROLE = {"RoleName": "$RoleName"}


def get_batch(*tables: Table) -> Call:
    """Read an item of each table."""
    keys = {table.name: {"Keys": [table.key]} for table in tables}
    return Call("dynamodb:BatchGetItem", RequestItems=keys)


def transaction(*parts: Call) -> Call:
    """Make calls one transaction, of which the first needs the right."""
    actions = [
        {each.operation.removesuffix("Item"): json.loads(each.parameters)}
        for each in parts
    ]
    return Call(
        "dynamodb:TransactWriteItems", right=parts[0].right, TransactItems=actions
    )


def on_queue(queue: str, operation: str, **parameters: Any) -> Call:
    """Do something with a queue."""
    return Call(f"sqs:{operation}", QueueUrl=queue, **parameters)


def send(queue: str, **parameters: Any) -> Call:
    """Send a message."""
    return on_queue(queue, "SendMessage", MessageBody="x", **parameters)


def send_batch(queue: str, **parameters: Any) -> Call:
    """Send a message as a batch."""
    entry = {"Id": "0", "MessageBody": "x"} | parameters
    return on_queue(queue, "SendMessageBatch", Entries=[entry])


def publish(**parameters: Any) -> Call:
    """Announce something."""
    return Call("sns:Publish", Message="x", **parameters)


def publish_batch(topic: str) -> Call:
    """Announce something as a batch."""
    entries = [{"Id": "0", "Message": "x"}]
    return Call("sns:PublishBatch", TopicArn=topic, PublishBatchRequestEntries=entries)


ALLOWED = {
    "query tickets": TICKETS.query(),
    "put a ticket": TICKETS.put(),
    "put a key": KEYS.put(),
    "get a key": KEYS.get(),
    "get a batch of keys": get_batch(KEYS),
    "put a ticket and a key": transaction(TICKETS.put(), KEYS.put()),
    "publish": publish(TopicArn=TOPIC),
    "publish a batch": publish_batch(TOPIC),
    "send a dead letter": send(DEAD_LETTERS),
    "send a batch of dead letters": send_batch(DEAD_LETTERS),
    "read the queue's attributes": on_queue(QUEUE, "GetQueueAttributes"),
}

# A right that the worker uses, a record that makes it, and whether the record fails.
# Each has a project of its own: a number that was just cached needs no query.
NEEDED = {
    "query tickets": (
        "dynamodb:Query",
        sqs_record(ticket_fields("NEEDED-QUERY")),
        True,
    ),
    "put items": ("dynamodb:PutItem", sqs_record(ticket_fields("NEEDED-PUT")), True),
    # Without it the key's own condition tells, at the price of a write.
    "get a batch of keys": (
        "dynamodb:BatchGetItem",
        sqs_record(ticket_fields("NEEDED-LOOKUP"), receive_count=2),
        False,
    ),
    "publish": ("sns:Publish*", sqs_record(ticket_fields("NEEDED-PUBLISH")), True),
    "send dead letters": ("sqs:SendMessage*", sqs_record("{nonsense"), True),
}

FORBIDDEN_WITH_DATA = {
    "get a ticket": TICKETS.get(),
    "get a ticket beside a key": get_batch(KEYS, TICKETS),
    "scan tickets": TICKETS.call("Scan"),
    "delete a ticket": TICKETS.delete(),
    "change a ticket": TICKETS.update(),
    "put a batch of tickets": TICKETS.write_batch("Put"),
    "delete a batch of tickets": TICKETS.write_batch("Delete"),
    "delete a ticket in a transaction": transaction(TICKETS.delete(), KEYS.put()),
    "change a ticket in a transaction": transaction(TICKETS.update(), KEYS.put()),
    "check a ticket in a transaction": transaction(TICKETS.check(), KEYS.put()),
    "delete a ticket by a statement": Call(
        "dynamodb:ExecuteStatement",
        Statement='DELETE FROM "$TicketsTableName" '
        "WHERE project_id = 'NOBODY' AND number = 1",
    ),
    "query keys": KEYS.query(),
    "scan keys": KEYS.call("Scan"),
    "delete a key": KEYS.delete(),
    "change a key": KEYS.update(),
    "put a batch of keys": KEYS.write_batch("Put"),
    "delete a batch of keys": KEYS.write_batch("Delete"),
    "delete a key in a transaction": transaction(KEYS.delete(), TICKETS.put()),
    "change a key in a transaction": transaction(KEYS.update(), TICKETS.put()),
    "get from another table": OTHER_TABLE.get(),
    "get from another table beside a key": get_batch(KEYS, OTHER_TABLE),
    "query another table": OTHER_TABLE.query(),
    "put into another table": OTHER_TABLE.put(),
    "put into another table in a transaction": transaction(
        OTHER_TABLE.put(), KEYS.put()
    ),
    "publish to another topic": publish(TopicArn=OTHER_TOPIC),
    "publish a batch to another topic": publish_batch(OTHER_TOPIC),
    "publish to a telephone": publish(PhoneNumber="+12065550100"),
    # Delayed, so that the worker does not get it when the role may send it.
    "send to the queue": send(QUEUE, DelaySeconds=900),
    "send a batch to the queue": send_batch(QUEUE, DelaySeconds=900),
    "hide a message": on_queue(
        QUEUE, "ChangeMessageVisibility", **RECEIPT, VisibilityTimeout=0
    ),
    "purge the queue": on_queue(QUEUE, "PurgeQueue"),
    "receive dead letters": on_queue(DEAD_LETTERS, "ReceiveMessage"),
    "delete a dead letter": on_queue(DEAD_LETTERS, "DeleteMessage", **RECEIPT),
    "purge dead letters": on_queue(DEAD_LETTERS, "PurgeQueue"),
    "send to another queue": send(OTHER_QUEUE),
    "receive from another queue": on_queue(OTHER_QUEUE, "ReceiveMessage"),
}

FORBIDDEN_WITH_TABLES = {
    "list tables": Call("dynamodb:ListTables"),
    "create a table": OTHER_TABLE.call(
        "CreateTable", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}]
    ),
    "delete the tickets": TICKETS.call("DeleteTable"),
    "delete the keys": KEYS.call("DeleteTable"),
    "end the deletion protection": TICKETS.call(
        "UpdateTable", DeletionProtectionEnabled=False
    ),
    "end the backups": TICKETS.call(
        "UpdateContinuousBackups",
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False},
    ),
    "copy the tickets": TICKETS.call("CreateBackup", BackupName="copy"),
    "let tickets expire": TICKETS.call(
        "UpdateTimeToLive",
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "number"},
    ),
}

FORBIDDEN_WITH_QUEUES_AND_TOPIC = {
    "list queues": Call("sqs:ListQueues"),
    "create a queue": Call("sqs:CreateQueue", QueueName="another"),
    "delete the queue": on_queue(QUEUE, "DeleteQueue"),
    "delete the dead-letter queue": on_queue(DEAD_LETTERS, "DeleteQueue"),
    "end the redrive policy": on_queue(
        QUEUE, "SetQueueAttributes", Attributes={"RedrivePolicy": ""}
    ),
    "open the queue": on_queue(
        QUEUE,
        "AddPermission",
        Label="all",
        AWSAccountIds=["111122223333"],
        Actions=["*"],
    ),
    "send dead letters back": Call(
        "sqs:StartMessageMoveTask", SourceArn="$DeadLetterQueueArn"
    ),
    "create a topic": Call("sns:CreateTopic", Name="another"),
    "delete the topic": Call("sns:DeleteTopic", TopicArn=TOPIC),
    "subscribe": Call("sns:Subscribe", TopicArn=TOPIC, Protocol="sqs", Endpoint="any"),
    "open the topic": Call(
        "sns:SetTopicAttributes", TopicArn=TOPIC, AttributeName="Policy"
    ),
}

FORBIDDEN_WITH_ITSELF = {
    "read its code": Call("lambda:GetFunction", **ITS_FUNCTION),
    "change its code": Call(
        "lambda:UpdateFunctionCode", **ITS_FUNCTION, S3Bucket="any", S3Key="any"
    ),
    "change its settings": Call(
        "lambda:UpdateFunctionConfiguration", **ITS_FUNCTION, Timeout=1
    ),
    "invoke itself": Call(
        "lambda:Invoke", right="lambda:InvokeFunction", **ITS_FUNCTION
    ),
    "poll another queue": Call(
        "lambda:CreateEventSourceMapping",
        **ITS_FUNCTION,
        EventSourceArn="$DeadLetterQueueArn",
    ),
    "read its log": Call("logs:FilterLogEvents", logGroupName="$WorkerLogGroupName"),
    "delete its log": Call("logs:DeleteLogGroup", logGroupName="$WorkerLogGroupName"),
    "read its role": Call("iam:GetRole", **ITS_ROLE),
    "widen its role": Call(
        "iam:PutRolePolicy", **ITS_ROLE, PolicyName="all", PolicyDocument="{}"
    ),
    "widen its role by a managed policy": Call(
        "iam:AttachRolePolicy",
        **ITS_ROLE,
        PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess",
    ),
    "let others take its role": Call(
        "iam:UpdateAssumeRolePolicy", **ITS_ROLE, PolicyDocument="{}"
    ),
    "take its role again": Call(
        "sts:AssumeRole", RoleArn="$RoleArn", RoleSessionName="again"
    ),
    "create a user": Call("iam:CreateUser", UserName="another"),
    "delete the stack": Call("cloudformation:DeleteStack", StackName="local"),
    "replace the artifact": Call("s3:PutObject", Bucket="artifacts", Key="worker.zip"),
    "silence an alarm": Call(
        "cloudwatch:DisableAlarmActions", AlarmNames=["DeadLettersAlarm"]
    ),
    "read a parameter": Call("ssm:GetParameter", Name="any"),
    "read a secret": Call("secretsmanager:GetSecretValue", SecretId="any"),
}

FORBIDDEN = (
    FORBIDDEN_WITH_DATA
    | FORBIDDEN_WITH_TABLES
    | FORBIDDEN_WITH_QUEUES_AND_TOPIC
    | FORBIDDEN_WITH_ITSELF
)


@dataclass(frozen=True)
class Caller:
    """Somebody who makes calls."""

    clients: Clients
    names: Mapping[str, str]

    def make(self, call: Call) -> Any:
        """Make a call."""
        return call.make(self.clients, self.names)

    def error(self, call: Call) -> tuple[str, str]:
        """Make a call; return the code and message of the error, empty if it works."""
        try:
            self.make(call)
        except ClientError as error:
            return error.response["Error"]["Code"], error.response["Error"]["Message"]
        return "", ""


@contextmanager
def caller(
    stack: LocalStack, names: Mapping[str, str], session: Mapping[str, str]
) -> Iterator[Caller]:
    """Give somebody credentials, as IAM and STS name them."""
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


def without(right: str, statements: Sequence[dict[str, Any]]) -> Iterator[Any]:
    """Return what is left of the statements."""
    for statement in statements:
        actions = statement["Action"]
        listed = [actions] if isinstance(actions, str) else actions
        if kept := [each for each in listed if each != right]:
            yield statement | {"Action": kept}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Deploy the template where every call needs a right."""
    settings = access_control(tmp_path_factory.mktemp("certificate"))
    with local_stack({"MaximumConcurrency": "2"}, settings=settings) as stack:
        yield stack


@pytest.fixture(scope="module")
def names(deployed: LocalStack) -> dict[str, str]:
    """Return what is deployed; another table, queue and topic stand beside it."""
    [role] = deployed.client("iam").list_roles()["Roles"]
    names = {"RoleName": role["RoleName"], "RoleArn": role["Arn"], **deployed.outputs}
    deployed.client("dynamodb").create_table(
        TableName=Template(OTHER_TABLE.name).substitute(names),
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    queue_url = Template(OTHER_QUEUE).substitute(names)
    deployed.client("sqs").create_queue(QueueName=queue_url.rpartition("/")[2])
    topic_arn = Template(OTHER_TOPIC).substitute(names)
    deployed.client("sns").create_topic(Name=topic_arn.rpartition(":")[2])
    return names


@pytest.fixture(scope="module")
def session(deployed: LocalStack, names: dict[str, str]) -> dict[str, str]:
    """Return the credentials of a session of the worker's role."""
    # The emulator lets the owner stand in for Lambda; on AWS nobody can.
    answer = deployed.client("sts").assume_role(
        RoleArn=names["RoleArn"], RoleSessionName="test"
    )
    credentials: dict[str, str] = answer["Credentials"]
    return credentials


@pytest.fixture(scope="module")
def role(
    deployed: LocalStack, names: dict[str, str], session: dict[str, str]
) -> Iterator[Caller]:
    """Return somebody who may do what the worker may."""
    with caller(deployed, names, session) as role:
        yield role


def invoke(stack: LocalStack, record: dict[str, Any]) -> tuple[list[Any], str]:
    """Hand the worker a record; return the failures that it reports, and its log."""
    answer = stack.client("lambda").invoke(
        FunctionName=stack.function_name,
        Qualifier="live",
        Payload=json.dumps(sqs_event(record)),
        LogType="Tail",
    )
    report = json.load(answer["Payload"])
    return report["batchItemFailures"], base64.b64decode(answer["LogResult"]).decode()


def say_plain_http(params: dict[str, Any], **_: Any) -> None:
    """Make a request look as if a proxy had received it without TLS."""
    params["headers"]["X-Forwarded-Proto"] = "http"


def was_refused(stack: LocalStack, project: str) -> bool:
    """Tell whether the worker logged that it might not do what the project needed."""
    lines = [line for line in stack.function_logs() if project in line]
    return any(code in line for line in lines for code in DENIED)


def wait_for_numbers(system: System, project: str, count: int) -> list[int]:
    """Wait for so many announcements; return their numbers, repeats included."""
    system.wait_for(lambda: len(system.events(project)) >= count)
    system.settle()
    return sorted(each["data"]["number"] for each in system.events(project))


class TestEnoughForTheJob:
    """With the role's rights alone, the worker does all that is promised."""

    def test_messages_of_several_projects_are_numbered_and_announced(
        self, system: System, project: str
    ) -> None:
        """Over TLS all the way, to a subscriber whose queue lets the topic send."""
        projects = [f"{project}-{serial}" for serial in range(3)]

        system.send(*[ticket_fields(each) for each in projects * 4])

        for each in projects:
            assert wait_for_numbers(system, each, 4) == [1, 2, 3, 4]
            assert system.audit(each).is_clean

    def test_poison_is_dead_lettered_with_its_body_and_a_reason(
        self, system: System, project: str
    ) -> None:
        """Its neighbour gets its number."""
        poison, _ = system.send("{nonsense", ticket_fields(project))

        letter = system.wait_for(lambda: system.dead_letter_of(poison))
        assert letter is not None
        assert letter.body == "{nonsense"
        assert letter.attributes["ErrorMessage"].startswith("body: not JSON")
        assert wait_for_numbers(system, project, 1) == [1]

    def test_key_keeps_its_number_when_sent_again(
        self, system: System, project: str
    ) -> None:
        """The repeat is announced with the same number, marked as a replay."""
        message = ticket_fields(project)
        system.send(message)
        wait_for_numbers(system, project, 1)

        system.send(message)

        assert wait_for_numbers(system, project, 2) == [1, 1]
        assert system.replays(project) == [False, True]

    def test_number_is_announced_when_the_topic_was_forbidden_for_a_while(
        self, system: System, project: str, names: dict[str, str]
    ) -> None:
        """Numbered and refused by the topic; redelivered, it keeps its number."""
        with (
            system.queue_attributes(VisibilityTimeout="2"),
            changed_role(system.stack, names, remove="sns:Publish*"),
        ):
            system.send(ticket_fields(project))
            system.wait_for(lambda: was_refused(system.stack, project))
        assert system.audit(project).numbers == (1,)
        assert system.events(project) == []

        assert set(wait_for_numbers(system, project, 1)) == {1}
        assert all(system.replays(project))
        assert system.audit(project).numbers == (1,)

    @pytest.mark.parametrize("call", cases(ALLOWED))
    def test_call_works_when_the_role_has_the_right(
        self, role: Caller, call: Call
    ) -> None:
        """The rights that the worker uses, one by one."""
        assert role.error(call) == ("", "")

    def test_message_is_taken_by_the_role_when_it_waits(
        self, deployed: LocalStack, role: Caller
    ) -> None:
        """What Lambda does in the role's name, which the emulator does not check."""
        with paused_worker(deployed):
            deployed.client("sqs").send_message(
                QueueUrl=deployed.outputs["CreateTicketQueueUrl"], MessageBody="x"
            )
            [message] = role.make(on_queue(QUEUE, "ReceiveMessage"))["Messages"]
            receipt = {"ReceiptHandle": message["ReceiptHandle"]}
            role.make(on_queue(QUEUE, "DeleteMessage", **receipt))

    @pytest.mark.parametrize(("right", "record", "fails"), cases(NEEDED))
    def test_worker_is_refused_when_a_right_is_taken_away(
        self,
        deployed: LocalStack,
        names: dict[str, str],
        right: str,
        record: dict[str, Any],
        fails: bool,  # noqa: FBT001 - a parameter of the test.
    ) -> None:
        """It works with its role's session; what it cannot do, it does not lose."""
        with changed_role(deployed, names, remove=right):
            failures, refused = invoke(deployed, record)
        assert bool(failures) == fails
        assert any(code in refused for code in DENIED)

        failures, granted = invoke(deployed, record)
        assert not failures
        assert not any(code in granted for code in DENIED)


class TestNoMore:
    """What the job does not need is denied."""

    @pytest.mark.parametrize("call", cases(FORBIDDEN))
    def test_call_is_denied_when_the_role_lacks_the_right(
        self, role: Caller, call: Call
    ) -> None:
        """For want of this very right."""
        code, message = role.error(call)

        assert code in DENIED
        assert f"not authorized to perform: {call.right} " in message
        assert "because no identity-based policy allows" in message

    @pytest.mark.parametrize("call", cases(FORBIDDEN_WITH_DATA))
    def test_call_is_let_through_when_the_role_is_given_the_right(
        self, deployed: LocalStack, names: dict[str, str], role: Caller, call: Call
    ) -> None:
        """So the denials above are the role's doing, and would be missed."""
        with changed_role(deployed, names, add=call.right):
            code, _ = role.error(call)

        assert code not in DENIED

    def test_role_is_denied_when_an_administrator_asks_for_it(
        self, deployed: LocalStack, names: dict[str, str]
    ) -> None:
        """Lambda alone may act in the worker's name, whatever else one may do."""
        iam, user = deployed.client("iam"), {"UserName": "administrator"}
        statement = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        document = {"Version": "2012-10-17", "Statement": [statement]}
        iam.create_user(**user)
        iam.put_user_policy(
            **user, PolicyName="all", PolicyDocument=json.dumps(document)
        )

        with caller(deployed, names, iam.create_access_key(**user)["AccessKey"]) as who:
            code, message = who.error(FORBIDDEN["take its role again"])
            assert who.error(FORBIDDEN["list tables"]) == ("", "")

        assert code in DENIED
        assert "not authorized to perform: sts:AssumeRole" in message


class TestNobodyElse:
    """Who cannot show who they are, or does not use TLS, gets nothing."""

    @pytest.mark.parametrize(
        "forged",
        cases(
            {
                "unknown key": {"AccessKeyId": "AKIAIOSFODNN7EXAMPLE"},
                "wrong secret": {"SecretAccessKey": "wrong"},
                "wrong token": {"SessionToken": "wrong"},
            }
        ),
    )
    def test_call_is_refused_when_the_credentials_are_forged(
        self,
        deployed: LocalStack,
        names: dict[str, str],
        session: dict[str, str],
        forged: dict[str, str],
    ) -> None:
        """Though the role has the right."""
        with caller(deployed, names, session | forged) as nobody:
            codes = {nobody.error(call)[0] for call in ALLOWED.values()}

        assert codes
        assert codes <= NOT_KNOWN

    @pytest.mark.parametrize(
        "call",
        cases(
            {
                "queue": on_queue(QUEUE, "GetQueueAttributes"),
                "dead-letter queue": send(DEAD_LETTERS),
                "topic": publish(TopicArn=TOPIC),
            }
        ),
    )
    def test_call_is_denied_when_it_did_not_come_by_tls(
        self,
        deployed: LocalStack,
        names: dict[str, str],
        session: dict[str, str],
        call: Call,
    ) -> None:
        """As behind a proxy that ends TLS: the emulator itself speaks nothing else."""
        with caller(deployed, names, session) as insecure:
            client = insecure.clients.client(call.service)
            client.meta.events.register("before-call", say_plain_http)
            code, message = insecure.error(call)

        assert code in DENIED
        assert "with an explicit deny in a resource-based policy" in message
