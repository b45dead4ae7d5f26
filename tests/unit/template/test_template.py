"""Relations between the parts of the template, which linters do not see."""

import re
from typing import Any

import pytest

from tests.support.builders import ASSIGNED_AT, create_ticket
from tests.support.template_loader import (
    Json,
    deployed,
    ids_of,
    listed,
    others,
    parameters,
    properties,
    refusals,
    source,
    the_only,
    translated,
    worker_as_written,
)
from ticket_numbering.contract.dynamodb_items import key_item, ticket_item
from ticket_numbering.contract.messages import Assignment
from tools.rights import ALL, Role, roles

HOUR = 60 * 60
DAY = 24 * HOUR

QUEUES = ["CreateTicketQueue", "CreateTicketDeadLetterQueue"]
TABLES = ["TicketsTable", "IdempotencyKeysTable"]
LINES = "LinesTable"
WITH_LINE = {"UseLine": "true"}
TOPIC = "AssignmentsTopic"
LOG = "NumberingWorkerLogGroup"
QUEUE_TYPES = ["standard", "fifo"]
REPLACEABLE = {
    *("AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy", "AWS::IAM::Role"),
    *("AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"),
    *("AWS::Lambda::Function", "AWS::Lambda::Version", "AWS::Lambda::Alias"),
    "AWS::Lambda::EventSourceMapping",
}
"""The types of resources that a deployment makes again without a loss."""

REQUEST = create_ticket()
ASSIGNMENT = Assignment(1, REQUEST.fingerprint, ASSIGNED_AT)
TICKET = ticket_item(REQUEST, ASSIGNMENT)
KEY_RECORD = key_item(REQUEST.key, ASSIGNMENT, expires_at=1)


def worker(**chosen: str) -> Json:
    return properties("NumberingWorker", **chosen)


def mapping(**chosen: str) -> Json:
    return the_only("AWS::Lambda::EventSourceMapping", **chosen)


class TestNothingLost:
    """A message leaves the queue numbered, or into the dead-letter queue."""

    @pytest.mark.parametrize(
        "window", parameters()["MaximumBatchingWindow"]["AllowedValues"]
    )
    def test_visibility_timeout_outlasts_six_invocations_and_window(
        self, window: str
    ) -> None:
        """As Lambda asks; and a failing message is a dead letter before it expires."""
        queue = properties("CreateTicketQueue", MaximumBatchingWindow=window)
        most = parameters()["MaxReceiveCount"]["MaxValue"] * queue["VisibilityTimeout"]

        assert queue["VisibilityTimeout"] >= 6 * worker()["Timeout"] + int(window)
        waits = mapping(MaximumBatchingWindow=window)["MaximumBatchingWindowInSeconds"]
        assert waits == window
        assert most <= queue["MessageRetentionPeriod"] - DAY

    def test_mapping_brings_the_live_version_all_messages_and_reports_failures(
        self,
    ) -> None:
        """Lambda deletes unreported messages, and those that match no filter."""
        assert mapping()["EventSourceArn"] == "${CreateTicketQueue.Arn}"
        assert mapping()["FunctionName"] == "${NumberingWorkerAliaslive}"
        assert mapping()["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert "FilterCriteria" not in mapping()

    @pytest.mark.parametrize("queue_type", QUEUE_TYPES)
    def test_dead_letter_queue_takes_messages_of_exactly_our_queue(
        self, queue_type: str
    ) -> None:
        queue, letters = (properties(name, QueueType=queue_type) for name in QUEUES)
        [source_arn] = letters["RedriveAllowPolicy"]["sourceQueueArns"]

        redrive = queue["RedrivePolicy"]
        assert redrive["deadLetterTargetArn"] == "${CreateTicketDeadLetterQueue.Arn}"
        assert letters["RedriveAllowPolicy"]["redrivePermission"] == "byQueue"
        assert ":sqs:" in source_arn
        assert source_arn.endswith(f":{queue['QueueName']}")

    def test_message_outlasts_an_outage_of_hours_by_default(self) -> None:
        queue = properties("CreateTicketQueue")

        deliveries = int(queue["RedrivePolicy"]["maxReceiveCount"])
        assert (deliveries - 1) * queue["VisibilityTimeout"] >= 4 * HOUR

    def test_dead_letter_is_kept_longer_than_a_message(self) -> None:
        """It keeps its age, and a person needs days to look."""
        queue, letters = (properties(name)["MessageRetentionPeriod"] for name in QUEUES)

        assert letters >= queue + 7 * DAY

    @pytest.mark.parametrize(("queue_type", "room"), [("standard", 57), ("fifo", 52)])
    def test_queue_has_a_name_of_its_own_in_every_instance_of_a_stack(
        self, queue_type: str, room: int
    ) -> None:
        """A retained queue must not block a new stack, whose name may be long."""
        names = {
            properties(
                "CreateTicketQueue",
                QueueType=queue_type,
                **{"AWS::StackName": "s" * room, "AWS::StackId": f"a/b/{guid}-1"},
            )["QueueName"]
            for guid in ("01234567", "89abcdef")
        }

        assert [len(name) for name in names] == [80, 80]

    def test_data_outlives_the_stack(self) -> None:
        """With subscriptions and log; a rollback cannot delete a protected table."""
        holders = {
            name: resource
            for name, resource in deployed(**WITH_LINE).items()
            if resource["Type"] not in REPLACEABLE and name != LINES
        }

        assert {*holders} >= {*QUEUES, *TABLES, TOPIC, LOG}
        for resource in holders.values():
            is_protected = "DeletionProtectionEnabled" in resource["Properties"]
            kept = "Retain" if is_protected else "RetainExceptOnCreate"
            assert resource["DeletionPolicy"] == kept
            assert resource["UpdateReplacePolicy"] == "Retain"

    @pytest.mark.parametrize("logical_id", TABLES)
    def test_table_can_be_restored_and_not_be_deleted(self, logical_id: str) -> None:
        table = properties(logical_id)

        recovery = table["PointInTimeRecoverySpecification"]
        assert recovery["PointInTimeRecoveryEnabled"] is True
        assert table["DeletionProtectionEnabled"] is True

    def test_lines_go_with_the_stack(self) -> None:
        """Only hints: no backup, no protection, and old items expire."""
        resource = deployed(**WITH_LINE)[LINES]

        assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Delete"
        assert not {
            "PointInTimeRecoverySpecification",
            "DeletionProtectionEnabled",
        } & {*resource["Properties"]}
        expiry = {"AttributeName": "expires_at", "Enabled": True}
        assert resource["Properties"]["TimeToLiveSpecification"] == expiry

    def test_worker_has_a_line_when_it_is_wanted(self) -> None:
        variables = [
            properties("NumberingWorker", UseLine=chosen)["Environment"]["Variables"]
            for chosen in ("true", "false")
        ]

        assert ["LINES_TABLE" in some for some in variables] == [True, False]
        assert LINES not in deployed(UseLine="false")


class TestGapless:
    """A project's highest sort key is its last number, for every reader."""

    @pytest.mark.parametrize(
        ("table", "item", "key"),
        [
            ("TicketsTable", TICKET, ["project_id", "number"]),
            ("IdempotencyKeysTable", KEY_RECORD, ["id"]),
        ],
    )
    def test_key_of_the_table_is_made_of_what_the_worker_writes(
        self, table: str, item: dict[str, Any], key: list[str]
    ) -> None:
        """Numbers sort as numbers: as a string, "10" would sort before "9"."""
        types = {str: "S", int: "N"}
        described = properties(table)

        assert described["KeySchema"] == [
            {"AttributeName": name, "KeyType": role}
            for name, role in zip(key, ("HASH", "RANGE"), strict=False)
        ]
        assert described["AttributeDefinitions"] == [
            {"AttributeName": name, "AttributeType": types[type(item[name])]}
            for name in key
        ]

    def test_tickets_are_in_one_region_without_end(self) -> None:
        """Two Regions would give a number twice; a local index ends at 10 GB."""
        assert ids_of("AWS::DynamoDB::Table", **WITH_LINE) == [*TABLES, LINES]
        assert not ids_of("AWS::DynamoDB::GlobalTable")
        assert "LocalSecondaryIndexes" not in properties("TicketsTable")
        assert "TimeToLiveSpecification" not in properties("TicketsTable")


class TestOncePerIdempotencyKey:
    """An answered request is remembered for longer than it can come back."""

    def test_keys_expire_by_the_attribute_that_the_worker_writes(self) -> None:
        expiry = properties("IdempotencyKeysTable")["TimeToLiveSpecification"]

        assert expiry["Enabled"] is True
        forever = key_item(REQUEST.key, ASSIGNMENT, expires_at=None)
        assert KEY_RECORD.keys() - forever.keys() == {expiry["AttributeName"]}

    def test_keys_are_kept_for_ever_or_longer_than_any_message(self) -> None:
        """On FIFO queues a dead letter's age restarts; a redriven one lives twice."""
        life = sum(properties(name)["MessageRetentionPeriod"] for name in QUEUES)

        accepted = [
            days
            for days in range(4_000)
            if not refusals(IdempotencyRetentionDays=str(days))
        ]

        assert parameters()["IdempotencyRetentionDays"]["Default"] == "0"
        assert accepted == [0, *range(accepted[1], accepted[-1] + 1)]
        assert accepted[1] * DAY > 2 * life
        for days in ("", "030", "00", "-1", "30.5"):
            assert refusals(IdempotencyRetentionDays=days)


OF_A_QUEUE = {
    "FifoQueue": (None, True),
    "DeduplicationScope": (None, "messageGroup"),
    "FifoThroughputLimit": (None, "perMessageGroupId"),
}
"""Quotas by project. SQS rejects each of them for a standard queue, even as false."""
NAME = "app-create-ticket-01234567"
BY_TYPE = {
    "QueueType": {
        # By the body: a producer's own id could be that of another ticket.
        "CreateTicketQueue": OF_A_QUEUE
        | {
            "ContentBasedDeduplication": (None, True),
            "QueueName": (NAME, f"{NAME}.fifo"),
        },
        # Not by the body: two dead letters may have the same.
        "CreateTicketDeadLetterQueue": OF_A_QUEUE
        | {"QueueName": (None, "app-dead-letter-01234567.fifo")},
        "NumberingWorkerCreateTicketMessages": {
            "MaximumBatchingWindowInSeconds": ("0", None)
        },
    },
    # The worker names each announcement, so SNS need not hash it.
    "TopicType": {
        TOPIC: {
            "TopicName": (None, "app-assignments-01234567.fifo"),
            "FifoTopic": (None, True),
            "FifoThroughputScope": (None, "MessageGroup"),
        }
    },
}
"""Each property that a type changes: as it is by default, and with FIFO."""


def differences(standard: Json, other: Json) -> dict[str, tuple[Any, Any]]:
    # The policy names the queue, as a test above says.
    names = (standard.keys() | other.keys()) - {"RedriveAllowPolicy"}
    pairs = {name: (standard.get(name), other.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


@pytest.mark.parametrize("kind", BY_TYPE)
def test_type_changes_what_order_needs_and_nothing_else(kind: str) -> None:
    """Alarms, dashboard and rights follow the name of a queue or topic."""
    standard, fifo = deployed(), deployed(**{kind: "fifo"})

    pairs = {
        name: differences(standard[name]["Properties"], fifo[name]["Properties"])
        for name in standard
        if not name.startswith("NumberingWorkerVersion")
    }
    assert {name: changed for name, changed in pairs.items() if changed} == (
        BY_TYPE[kind]
    )


OTHERS = others()
KEY = OTHERS["KmsKeyArn"]
RESOURCES = {
    "the tickets": ["${TicketsTable.Arn}"],
    "the keys": ["${IdempotencyKeysTable.Arn}"],
    "the lines": ["${LinesTable.Arn}"],
    "the topic": ["${AssignmentsTopic}"],
    "the dead-letter queue": ["${CreateTicketDeadLetterQueue.Arn}"],
    "the queue": ["${CreateTicketQueue.Arn}"],
    "the log group": ["${NumberingWorkerLogGroup.Arn}"],
    "the key `KmsKeyArn`, if there is one": [KEY],
    "the function": ["${NumberingWorker.Arn}", "${NumberingWorker.Arn}:*"],
    ALL: ["*"],
}
"""By their name in the rights."""
EVERY_ROLE = {"GradualDeployment": "true"}


def allowed(role: Json) -> set[tuple[str, str]]:
    """Return each resource of a role's policies with each of its actions."""
    statements = [
        rule
        for policy in role["Policies"]
        for rule in policy["PolicyDocument"]["Statement"]
    ]
    assert {rule["Effect"] for rule in statements} == {"Allow"}
    return {
        (arn, action)
        for rule in statements
        for arn in listed(rule["Resource"])
        for action in listed(rule["Action"])
    }


def documented(role: Role) -> set[tuple[str, str]]:
    """Return each resource of a role's rights with each of its actions."""
    return {
        (arn, action)
        for grant in role.rights
        for name in grant.on
        for arn in RESOURCES[name]
        for action in grant.allow
    }


class TestLeastPrivilege:
    """Worker and CodeDeploy have the rights of their job, on the stack's resources."""

    def test_roles_are_those_of_the_rights(self) -> None:
        """And AWS's policies, which allow every queue and log, are not attached."""
        assert ids_of("AWS::IAM::Role") == ["NumberingWorkerRole"]
        names = ids_of("AWS::IAM::Role", **EVERY_ROLE)
        assert {*names} == {role.role for role in roles()}
        assert not ids_of("AWS::IAM::Policy") + ids_of("AWS::IAM::ManagedPolicy")
        assert worker()["Role"] == "${NumberingWorkerRole.Arn}"

    @pytest.mark.parametrize("role", roles(), ids=lambda role: role.role)
    def test_role_allows_exactly_what_its_rights_say(self, role: Role) -> None:
        """With every parameter at another value; by default without line and key."""
        described = properties(role.role, **OTHERS)
        by_default = properties(role.role, **EVERY_ROLE)

        rights = documented(role)
        further = {KEY, *RESOURCES["the lines"]}
        assert allowed(described) == rights
        assert allowed(by_default) == {
            right for right in rights if right[0] not in further
        }
        assert "ManagedPolicyArns" not in described

    @pytest.mark.parametrize(
        ("role", "service"),
        [("NumberingWorkerRole", "lambda"), ("DeploymentRole", "codedeploy")],
    )
    def test_role_can_be_taken_by_its_service_alone(
        self, role: str, service: str
    ) -> None:
        trust = properties(role, **EVERY_ROLE)["AssumeRolePolicyDocument"]

        [statement] = trust["Statement"]
        assert statement["Principal"] == {"Service": f"{service}.amazonaws.com"}


class TestLandingZone:
    """An account's own boundary, key and producers need no change of the template."""

    def test_every_role_has_the_boundary(self) -> None:
        """Where boundaries are demanded, a role without one is refused."""
        chosen = EVERY_ROLE | {"PermissionsBoundaryArn": "arn"}

        for role in ids_of("AWS::IAM::Role", **chosen):
            assert properties(role, **chosen)["PermissionsBoundary"] == "arn"
            assert "PermissionsBoundary" not in properties(role, **EVERY_ROLE)

    def test_data_is_encrypted_with_keys_of_aws_by_default(self) -> None:
        """That queues and topic demand TLS is shown end to end."""
        assert all(properties(name)["SqsManagedSseEnabled"] is True for name in QUEUES)
        assert properties(TOPIC)["KmsMasterKeyId"] == "alias/aws/sns"
        assert KEY not in str(deployed())

    def test_data_is_encrypted_with_the_key_that_is_chosen(self) -> None:
        chosen = deployed(KmsKeyArn=KEY, AlarmEmail="a@b.example")
        by_id = {name: resource["Properties"] for name, resource in chosen.items()}

        assert not any(by_id[name]["SqsManagedSseEnabled"] for name in QUEUES)
        for name in (*QUEUES, TOPIC, "AlarmTopic"):
            assert by_id[name]["KmsMasterKeyId"] == KEY
        for name in TABLES:
            assert by_id[name]["SSESpecification"]["KMSMasterKeyId"] == KEY
        assert by_id[LOG]["KmsKeyId"] == KEY

    def test_queue_lets_the_chosen_accounts_send_and_nothing_else(self) -> None:
        policy = properties("CreateTicketQueuePolicy", **OTHERS)

        allowed, denied = policy["PolicyDocument"]["Statement"]
        assert (allowed["Effect"], denied["Effect"]) == ("Allow", "Deny")
        assert allowed["Principal"] == {"AWS": OTHERS["ProducerAccounts"].split(",")}
        assert allowed["Action"] == "sqs:SendMessage"
        assert allowed["Resource"] == "${CreateTicketQueue.Arn}"

    def test_policies_of_queues_and_topic_allow_nothing_by_default(self) -> None:
        """A role, also the worker's, has the rights of its own policy."""
        names = ids_of("AWS::SQS::QueuePolicy") + ids_of("AWS::SNS::TopicPolicy")

        for policy in (properties(name)["PolicyDocument"] for name in names):
            assert [rule["Effect"] for rule in policy["Statement"]] == ["Deny"]


def lasting(resource: Json) -> Json:
    """Return a resource without the properties whose change keeps its name."""
    encryption = {"SSESpecification", "SqsManagedSseEnabled", "KmsMasterKeyId"}
    kept = resource["Properties"].keys() - encryption
    return {name: resource["Properties"][name] for name in kept}


class TestWorker:
    """The function gets the settings that it reads, and so does its live version."""

    def test_events_name_the_stack_as_the_output_does(self) -> None:
        written = source()["Resources"]["NumberingWorker"]["Properties"]
        name = written["Environment"]["Variables"]["EVENT_SOURCE"]

        assert name == source()["Outputs"]["EventSource"]["Value"]
        assert name == {"Fn::Sub": "/ticket-numbering/${AWS::StackName}"}

    def test_mapping_and_queue_get_what_was_chosen(self) -> None:
        events = mapping(**OTHERS)
        limit = events["ScalingConfig"]["MaximumConcurrency"]

        assert events["BatchSize"] == OTHERS["BatchSize"]
        assert limit == OTHERS["MaximumConcurrency"]
        queue = properties("CreateTicketQueue", **OTHERS)
        assert queue["RedrivePolicy"]["maxReceiveCount"] == OTHERS["MaxReceiveCount"]

    @pytest.mark.parametrize("name", OTHERS)
    def test_version_is_published_when_a_parameter_changes_the_worker(
        self, name: str
    ) -> None:
        """Or a queue or topic that it writes to; else the alias keeps the old one."""
        named = re.findall(r"\$\{(\w+)}", str(worker()["Environment"]))
        [version] = ids_of("AWS::Lambda::Version")
        before, after = deployed(), deployed(**{name: OTHERS[name]})

        is_published = before[version] != after[version]

        parts = ["NumberingWorker", *named]
        assert is_published == any(
            lasting(before[part]) != lasting(after[part]) for part in parts
        )

    def test_version_is_published_when_the_configuration_changes(self) -> None:
        [before] = ids_of("AWS::Lambda::Version")

        changed = translated(worker_as_written(Timeout=29))

        assert before not in changed

    def test_lambda_drops_no_line_whatever_the_level_is(self) -> None:
        """With the format JSON it drops by level, and takes metrics for INFO."""
        assert worker()["LoggingConfig"]["LogFormat"] == "Text"

    def test_log_is_kept_as_long_as_a_dead_letter(self) -> None:
        letters = properties("CreateTicketDeadLetterQueue")

        shortest = min(parameters()["LogRetentionDays"]["AllowedValues"])
        assert shortest * DAY >= letters["MessageRetentionPeriod"]
        assert worker()["LoggingConfig"]["LogGroup"] == "${NumberingWorkerLogGroup}"
