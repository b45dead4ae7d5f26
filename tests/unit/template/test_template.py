"""What the linters do not notice about the template, asserted after the transform."""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.support.template_loader import (
    TEMPLATE,
    Json,
    attribute,
    ids_of,
    parameters,
    properties,
    ref,
    refusals,
    resource,
    source,
    the_only,
    translated,
)
from ticket_numbering.observability import Metric
from ticket_numbering.settings import Settings

DAY = 24 * 60 * 60

QUEUES = ["CreateTicketQueue", "CreateTicketDeadLetterQueue"]
TABLES = ["TicketsTable", "IdempotencyKeysTable"]
WINDOWS = ["0", "1", "2", "5", "10", "20", "60", "300"]


def mapping() -> Json:
    """Return the configuration of the event source mapping."""
    return the_only("AWS::Lambda::EventSourceMapping")


def worker() -> Json:
    """Return the configuration of the worker."""
    return properties("NumberingWorker")


def visibility_timeout(window: str) -> int:
    """Return the seconds that the queue hides a message for, by batching window."""
    table = translated()["Mappings"]["VisibilityTimeoutByBatchingWindow"]
    seconds: int = table[window]["Seconds"]
    return seconds


def statements() -> Iterator[Json]:
    """Yield every statement of the worker's role."""
    for policy in properties("NumberingWorkerRole")["Policies"]:
        yield from policy["PolicyDocument"]["Statement"]


def as_list(one_or_more: str | list[str]) -> list[str]:
    """Return a policy element that may stand alone as a list."""
    return one_or_more if isinstance(one_or_more, list) else [one_or_more]


class TestNothingLost:
    """A message leaves the queue numbered, or into the dead-letter queue."""

    def test_visibility_table_covers_exactly_the_allowed_windows(self) -> None:
        """Every window that may be chosen has a visibility timeout."""
        table = translated()["Mappings"]["VisibilityTimeoutByBatchingWindow"]

        assert list(table) == WINDOWS
        assert parameters()["MaximumBatchingWindow"]["AllowedValues"] == WINDOWS

    @pytest.mark.parametrize("window", WINDOWS)
    def test_visibility_timeout_outlasts_six_invocations_and_window(
        self, window: str
    ) -> None:
        """Lambda asks for six times the function's timeout, plus the window."""
        assert visibility_timeout(window) >= 6 * worker()["Timeout"] + int(window)

    def test_queue_takes_its_visibility_timeout_from_the_table(self) -> None:
        """The table is looked up with the window that the mapping gets."""
        window = ref("MaximumBatchingWindow")
        lookup = ["VisibilityTimeoutByBatchingWindow", window, "Seconds"]

        timeout = properties("CreateTicketQueue")["VisibilityTimeout"]

        assert timeout == {"Fn::FindInMap": lookup}
        assert mapping()["MaximumBatchingWindowInSeconds"] == window

    def test_mapping_reports_partial_failures(self) -> None:
        """Without it Lambda deletes the messages that the worker reports as failed."""
        assert mapping()["FunctionResponseTypes"] == ["ReportBatchItemFailures"]

    def test_mapping_has_no_filter(self) -> None:
        """Lambda deletes what a filter does not match."""
        assert "FilterCriteria" not in mapping()

    def test_mapping_is_the_only_one_and_polls_the_queue(self) -> None:
        """The worker is fed by the create-ticket queue alone."""
        assert mapping()["EventSourceArn"] == attribute("CreateTicketQueue")
        assert mapping()["FunctionName"] == ref("NumberingWorkerAliaslive")

    def test_queue_moves_messages_after_ten_deliveries(self) -> None:
        """Contention and outages get ten tries before a person is asked."""
        assert properties("CreateTicketQueue")["RedrivePolicy"] == {
            "deadLetterTargetArn": attribute("CreateTicketDeadLetterQueue"),
            "maxReceiveCount": 10,
        }

    def test_dead_letter_queue_keeps_messages_longer_than_the_queue(self) -> None:
        """A moved message keeps its age, so the second retention must be longer."""
        queue, dead_letters = (
            properties(each)["MessageRetentionPeriod"] for each in QUEUES
        )

        assert queue == 4 * DAY
        assert dead_letters == 14 * DAY

    def test_dead_letter_queue_takes_messages_of_exactly_our_queue(self) -> None:
        """The allowed source is the queue's own name, made into an ARN."""
        name, variables = properties("CreateTicketQueue")["QueueName"]["Fn::Sub"]
        arn = f"arn:${{AWS::Partition}}:sqs:${{AWS::Region}}:${{AWS::AccountId}}:{name}"

        policy = properties("CreateTicketDeadLetterQueue")["RedriveAllowPolicy"]

        assert policy == {
            "redrivePermission": "byQueue",
            "sourceQueueArns": [{"Fn::Sub": [arn, variables]}],
        }

    def test_queue_name_differs_in_every_instance_of_a_stack(self) -> None:
        """A retained queue must not block a new stack of the same name."""
        name, variables = properties("CreateTicketQueue")["QueueName"]["Fn::Sub"]
        guid = {"Fn::Select": [2, {"Fn::Split": ["/", ref("AWS::StackId")]}]}

        assert name == "${AWS::StackName}-create-ticket-${Instance}${Suffix}"
        assert variables == {
            "Instance": {"Fn::Select": [0, {"Fn::Split": ["-", guid]}]},
            "Suffix": "",
        }

    @pytest.mark.parametrize("logical_id", QUEUES + TABLES)
    def test_queues_and_tables_outlive_the_stack(self, logical_id: str) -> None:
        """Neither deleting the stack nor replacing the resource loses anything."""
        assert resource(logical_id)["DeletionPolicy"].startswith("Retain")
        assert resource(logical_id)["UpdateReplacePolicy"] == "Retain"

    @pytest.mark.parametrize("logical_id", QUEUES)
    def test_queue_is_removed_when_its_creation_is_rolled_back(
        self, logical_id: str
    ) -> None:
        """Nobody has sent to it yet."""
        assert resource(logical_id)["DeletionPolicy"] == "RetainExceptOnCreate"

    @pytest.mark.parametrize("logical_id", TABLES)
    def test_table_is_left_alone_when_its_creation_is_rolled_back(
        self, logical_id: str
    ) -> None:
        """Its deletion protection would make the rollback fail."""
        assert resource(logical_id)["DeletionPolicy"] == "Retain"

    @pytest.mark.parametrize("logical_id", TABLES)
    def test_tables_can_be_restored_and_not_be_deleted(self, logical_id: str) -> None:
        """Point-in-time recovery and deletion protection are on."""
        table = properties(logical_id)

        assert table["PointInTimeRecoverySpecification"] == {
            "PointInTimeRecoveryEnabled": True
        }
        assert table["DeletionProtectionEnabled"] is True

    def test_large_batch_is_refused_when_there_is_no_window(self) -> None:
        """The rule knows every batch size that needs no window, and no other."""
        rule = translated()["Rules"]["LargeBatchesNeedAWindow"]
        [assertion] = rule["Assertions"]
        sizes, chosen = assertion["Assert"]["Fn::Contains"]

        assert rule["RuleCondition"] == {
            "Fn::And": [
                {"Fn::Equals": [ref("QueueType"), "standard"]},
                {"Fn::Equals": [ref("MaximumBatchingWindow"), "0"]},
            ]
        }
        assert sizes == [str(size) for size in range(1, 11)]
        assert chosen == ref("BatchSize")
        assert mapping()["BatchSize"] == ref("BatchSize")

    def test_batch_size_stays_within_what_one_invocation_can_do(self) -> None:
        """Ten by default, which needs no window."""
        size = parameters()["BatchSize"]

        assert (size["MinValue"], size["Default"], size["MaxValue"]) == (1, 10, 1000)
        assert parameters()["MaximumBatchingWindow"]["Default"] == "0"


class TestGapless:
    """A project's highest sort key is its last number, for every reader."""

    def test_tickets_are_sorted_by_number_within_their_project(self) -> None:
        """The sort key is of type N: as a string, "10" would sort before "9"."""
        assert _key("TicketsTable") == {
            "project_id": ("HASH", "S"),
            "number": ("RANGE", "N"),
        }

    def test_there_are_only_the_two_tables(self) -> None:
        """No global table, in which two Regions could give the same number."""
        types = {each["Type"] for each in translated()["Resources"].values()}

        assert ids_of("AWS::DynamoDB::Table") == TABLES
        assert "AWS::DynamoDB::GlobalTable" not in types

    @pytest.mark.parametrize("logical_id", TABLES)
    @pytest.mark.parametrize(
        "feature",
        [
            "LocalSecondaryIndexes",  # It would end a project at 10 GB.
            "GlobalSecondaryIndexes",
            "StreamSpecification",
            "ReplicaSpecification",
        ],
    )
    def test_tables_have_no_index_stream_or_replica(
        self, logical_id: str, feature: str
    ) -> None:
        """What nothing reads is not there to be read by mistake."""
        assert feature not in properties(logical_id)

    @pytest.mark.parametrize("logical_id", TABLES)
    def test_tables_are_paid_by_request(self, logical_id: str) -> None:
        """There is no capacity to run out of but DynamoDB's own."""
        assert properties(logical_id)["BillingMode"] == "PAY_PER_REQUEST"
        assert "ProvisionedThroughput" not in properties(logical_id)

    def test_tickets_never_expire(self) -> None:
        """A ticket that expired would leave a gap."""
        assert "TimeToLiveSpecification" not in properties("TicketsTable")


class TestOncePerIdempotencyKey:
    """An answered request is remembered for longer than it can come back."""

    def test_keys_have_an_id_and_nothing_else(self) -> None:
        """One item for each project and idempotency key."""
        assert _key("IdempotencyKeysTable") == {"id": ("HASH", "S")}

    def test_keys_expire_by_their_own_attribute(self) -> None:
        """An item without the attribute stays for ever."""
        assert properties("IdempotencyKeysTable")["TimeToLiveSpecification"] == {
            "AttributeName": "expires_at",
            "Enabled": True,
        }

    def test_keys_are_kept_for_ever_by_default(self) -> None:
        """Forgetting is what an operator must ask for."""
        retention = parameters()["IdempotencyRetentionDays"]

        assert (retention["Type"], retention["Default"]) == ("String", "0")

    @pytest.mark.parametrize("days", ["0", "30", "99", "365", "999", "3599", "3650"])
    def test_retention_is_accepted_when_no_message_outlives_it(self, days: str) -> None:
        """For ever, or 30 days to ten years."""
        assert re.fullmatch(_retention_pattern(), days)

    @pytest.mark.parametrize(
        "days", ["", "1", "29", "029", "00", "-1", "30.5", "abc", "3651", "9999"]
    )
    def test_retention_is_refused_when_a_message_could_outlive_it(
        self, days: str
    ) -> None:
        """Fewer than 30 days, and what is no number of days at all."""
        assert not re.fullmatch(_retention_pattern(), days)

    def test_retention_says_why_it_is_refused(self) -> None:
        """The sentence names what is allowed and what would go wrong."""
        sentence = parameters()["IdempotencyRetentionDays"]["ConstraintDescription"]

        assert "0 (for ever) or 30 to 3650 days" in sentence
        assert "second number" in sentence


class TestBoundedConcurrency:
    """Batches of one project collide, so their number is limited at the source."""

    def test_concurrency_is_a_parameter_within_lambdas_bounds(self) -> None:
        """Lambda refuses a maximum of 1."""
        limit = parameters()["MaximumConcurrency"]

        assert (limit["MinValue"], limit["Default"], limit["MaxValue"]) == (2, 10, 1000)

    def test_mapping_gets_the_chosen_concurrency(self) -> None:
        """The parameter goes in as it is."""
        assert mapping()["ScalingConfig"] == {
            "MaximumConcurrency": ref("MaximumConcurrency")
        }

    def test_mapping_has_no_provisioned_pollers(self) -> None:
        """They exclude a maximum concurrency."""
        assert "ProvisionedPollerConfig" not in mapping()

    def test_mapping_counts_its_events(self) -> None:
        """Polled minus deleted shows what keeps coming back."""
        assert mapping()["MetricsConfig"] == {"Metrics": ["EventCount"]}


class TestLeastPrivilege:
    """The worker may do what its design says, on its own resources, and no more."""

    def test_worker_has_our_role_and_there_is_no_other(self) -> None:
        """The transform must not add a role with AWS's managed policies."""
        assert worker()["Role"] == attribute("NumberingWorkerRole")
        assert ids_of("AWS::IAM::Role") == ["NumberingWorkerRole"]

    def test_role_allows_exactly_what_the_worker_does(self) -> None:
        """Every right of the role, by the resource that it is for."""
        allowed = {
            json.dumps(each["Resource"]): set(as_list(each["Action"]))
            for each in statements()
        }

        assert allowed == {
            json.dumps(attribute("CreateTicketQueue")): {
                "sqs:ReceiveMessage",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
            },
            json.dumps(attribute("TicketsTable")): {
                "dynamodb:Query",
                "dynamodb:PutItem",
            },
            json.dumps(attribute("IdempotencyKeysTable")): {
                "dynamodb:GetItem",
                "dynamodb:BatchGetItem",
                "dynamodb:PutItem",
            },
            json.dumps(ref("AssignmentsTopic")): {"sns:Publish*"},
            json.dumps(attribute("CreateTicketDeadLetterQueue")): {"sqs:SendMessage*"},
            json.dumps(attribute("NumberingWorkerLogGroup")): {
                "logs:CreateLogStream",
                "logs:PutLogEvents",
            },
        }

    def test_role_says_each_thing_once(self) -> None:
        """Two statements on one resource would hide from the test above."""
        resources = [json.dumps(each["Resource"]) for each in statements()]

        assert len(resources) == len(set(resources))
        assert {each["Effect"] for each in statements()} == {"Allow"}

    def test_role_has_no_wildcard_resource(self) -> None:
        """Every statement names one resource of this stack."""
        for statement in statements():
            assert "*" not in json.dumps(statement["Resource"])
            assert not {"NotAction", "NotResource"} & statement.keys()

    def test_role_cannot_delete_or_change_an_item(self) -> None:
        """No bug in the worker can take a number back."""
        actions = {one for each in statements() for one in as_list(each["Action"])}
        on_tables = {one for one in actions if one.startswith("dynamodb:")}

        assert not [one for one in on_tables if re.search(r"Delete|Update|\*", one)]

    def test_role_has_no_managed_policy(self) -> None:
        """AWS's policies for queue workers allow every queue and every log."""
        assert "ManagedPolicyArns" not in properties("NumberingWorkerRole")
        assert not ids_of("AWS::IAM::Policy")
        assert not ids_of("AWS::IAM::ManagedPolicy")

    def test_role_can_be_taken_by_lambda_alone(self) -> None:
        """Nobody else may act in the worker's name."""
        trust = properties("NumberingWorkerRole")["AssumeRolePolicyDocument"]

        assert trust["Statement"] == [
            {
                "Effect": "Allow",
                "Principal": {"Service": "lambda.amazonaws.com"},
                "Action": "sts:AssumeRole",
            }
        ]


class TestEncryption:
    """Messages are encrypted where they lie and where they travel."""

    @pytest.mark.parametrize("logical_id", QUEUES)
    def test_queues_are_encrypted(self, logical_id: str) -> None:
        """SQS manages the key."""
        assert properties(logical_id)["SqsManagedSseEnabled"] is True

    def test_topic_is_encrypted(self) -> None:
        """SNS encrypts only if a key is named."""
        assert properties("AssignmentsTopic")["KmsMasterKeyId"] == "alias/aws/sns"

    @pytest.mark.parametrize(
        ("policy", "targets", "target", "arn", "action"),
        [
            (
                "CreateTicketQueuePolicy",
                "Queues",
                "CreateTicketQueue",
                attribute("CreateTicketQueue"),
                "sqs:*",
            ),
            (
                "CreateTicketDeadLetterQueuePolicy",
                "Queues",
                "CreateTicketDeadLetterQueue",
                attribute("CreateTicketDeadLetterQueue"),
                "sqs:*",
            ),
            (
                "AssignmentsTopicPolicy",
                "Topics",
                "AssignmentsTopic",
                ref("AssignmentsTopic"),
                "sns:Publish",  # SNS refuses a topic policy with sns:*.
            ),
        ],
    )
    def test_insecure_transport_is_denied_to_everybody(
        self, policy: str, targets: str, target: str, arn: Json, action: str
    ) -> None:
        """The only statement of each resource's policy refuses what is not TLS."""
        [statement] = properties(policy)["PolicyDocument"]["Statement"]

        assert properties(policy)[targets] == [ref(target)]
        assert statement == {
            "Sid": "DenyInsecureTransport",
            "Effect": "Deny",
            "Principal": "*",
            "Action": action,
            "Resource": arn,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }


class TestWorker:
    """The function runs the code that is tested, with the settings that it reads."""

    def test_worker_runs_our_handler(self) -> None:
        """The code is the folder that ships."""
        written = source()["Resources"]["NumberingWorker"]["Properties"]

        assert written["CodeUri"] == "src/"
        assert worker()["Handler"] == "ticket_numbering.lambda_function.lambda_handler"
        assert worker()["Runtime"] == "python3.13"

    def test_worker_has_time_to_back_off(self) -> None:
        """The visibility table is made for this timeout."""
        assert worker()["Timeout"] == 30
        assert worker()["MemorySize"] == 512

    def test_worker_runs_on_the_chosen_processor(self) -> None:
        """The cheaper one by default."""
        architecture = parameters()["Architecture"]

        assert worker()["Architectures"] == [ref("Architecture")]
        assert architecture["Default"] == "arm64"
        assert architecture["AllowedValues"] == ["arm64", "x86_64"]

    def test_worker_gets_every_setting_that_it_needs(self) -> None:
        """A missing variable would stop each cold start."""
        required = {
            name.upper()
            for name, field in Settings.model_fields.items()
            if field.is_required()
        }

        assert required <= _environment().keys()

    def test_worker_gets_no_setting_that_it_does_not_know(self) -> None:
        """What is set here has a reader: our settings, Powertools or the SDK."""
        known = {name.upper() for name in Settings.model_fields}
        others = {"AWS_ENDPOINT_URL"}  # The SDK's own.

        assert {
            name for name in _environment() if not name.startswith("POWERTOOLS_")
        } <= known | others

    def test_worker_is_told_its_own_resources(self) -> None:
        """Names come from the stack, whichever stack it is."""
        environment = _environment()

        assert environment["TICKETS_TABLE"] == ref("TicketsTable")
        assert environment["IDEMPOTENCY_KEYS_TABLE"] == ref("IdempotencyKeysTable")
        assert environment["ASSIGNMENTS_TOPIC_ARN"] == ref("AssignmentsTopic")
        assert environment["DEAD_LETTER_QUEUE_URL"] == ref(
            "CreateTicketDeadLetterQueue"
        )
        assert environment["IDEMPOTENCY_RETENTION_DAYS"] == ref(
            "IdempotencyRetentionDays"
        )

    def test_worker_measures_under_its_stacks_name(self) -> None:
        """The metrics of two stacks do not mix."""
        assert _environment()["POWERTOOLS_SERVICE_NAME"] == ref("AWS::StackName")

    def test_lambda_drops_no_line_whatever_the_parameters_are(self) -> None:
        """With JSON it drops by level; metrics have none, and count as INFO."""
        assert worker()["LoggingConfig"] == {
            "LogFormat": "Text",
            "LogGroup": ref("NumberingWorkerLogGroup"),
        }

    def test_logger_gets_the_chosen_level(self) -> None:
        """From the environment, at which Powertools looks."""
        assert _environment()["POWERTOOLS_LOG_LEVEL"] == ref("LogLevel")
        assert parameters()["LogLevel"]["Default"] == "INFO"

    def test_log_group_forgets_no_sooner_than_the_dead_letter_queue(self) -> None:
        """A dead letter's log lines are still there when somebody reads it."""
        retention = parameters()["LogRetentionDays"]
        dead_letters = properties("CreateTicketDeadLetterQueue")

        assert properties("NumberingWorkerLogGroup")["RetentionInDays"] == ref(
            "LogRetentionDays"
        )
        assert retention["Default"] == 30
        assert (
            min(retention["AllowedValues"]) * DAY
            >= dead_letters["MessageRetentionPeriod"]
        )

    def test_worker_is_not_traced(self) -> None:
        """Tracing needs a right on every resource."""
        assert "TracingConfig" not in worker()


class Watched(NamedTuple):
    """The metric that an alarm watches."""

    namespace: str
    metric: str
    dimension: str
    value: Json


WATCHED = {
    "DeadLettersAlarm": Watched(
        "AWS/SQS",
        "ApproximateNumberOfMessagesVisible",
        "QueueName",
        attribute("CreateTicketDeadLetterQueue", "QueueName"),
    ),
    "OldestMessageAgeAlarm": Watched(
        "AWS/SQS",
        "ApproximateAgeOfOldestMessage",
        "QueueName",
        attribute("CreateTicketQueue", "QueueName"),
    ),
    "WorkerErrorsAlarm": Watched(
        "AWS/Lambda", "Errors", "FunctionName", ref("NumberingWorker")
    ),
    "WorkerThrottlesAlarm": Watched(
        "AWS/Lambda", "Throttles", "FunctionName", ref("NumberingWorker")
    ),
    "TransientFailuresAlarm": Watched(
        "TicketNumbering", Metric.TRANSIENT, "service", ref("AWS::StackName")
    ),
    "AnnouncementsFailedAlarm": Watched(
        "TicketNumbering", Metric.ANNOUNCEMENTS_FAILED, "service", ref("AWS::StackName")
    ),
}
OWN_METRICS = ["TransientFailuresAlarm", "AnnouncementsFailedAlarm"]


class TestAlarms:
    """A person hears of what the system cannot fix by itself."""

    def test_there_is_no_alarm_that_is_not_tested(self) -> None:
        """The table above is complete."""
        assert set(ids_of("AWS::CloudWatch::Alarm")) == WATCHED.keys()

    @pytest.mark.parametrize("logical_id", WATCHED)
    def test_alarm_watches_its_metric(self, logical_id: str) -> None:
        """A metric that nobody reports would never raise the alarm."""
        alarm, watched = properties(logical_id), WATCHED[logical_id]

        assert alarm["Namespace"] == watched.namespace
        assert alarm["MetricName"] == watched.metric
        assert alarm["Dimensions"] == [
            {"Name": watched.dimension, "Value": watched.value}
        ]

    @pytest.mark.parametrize("logical_id", WATCHED)
    def test_alarm_is_calm_when_there_is_no_data(self, logical_id: str) -> None:
        """Silence means that there was nothing to do."""
        assert properties(logical_id)["TreatMissingData"] == "notBreaching"

    @pytest.mark.parametrize("logical_id", WATCHED)
    def test_alarm_notifies_topic_and_address_when_they_are_given(
        self, logical_id: str
    ) -> None:
        """Of the trouble and of its end."""
        notified = [
            {"Fn::If": ["HasAlarmTopic", ref("AlarmTopicArn"), ref("AWS::NoValue")]},
            {"Fn::If": ["HasAlarmEmail", ref("AlarmTopic"), ref("AWS::NoValue")]},
        ]

        assert properties(logical_id)["AlarmActions"] == notified
        assert properties(logical_id)["OKActions"] == notified

    def test_address_is_subscribed_to_a_topic_that_cloudwatch_may_use(self) -> None:
        """It may not use AWS's key of SNS; the topic's default policy lets it publish.

        A subscription within the topic would stay when the address changes.
        """
        assert "Properties" not in resource("AlarmTopic")
        assert properties("AlarmSubscription") == {
            "TopicArn": ref("AlarmTopic"),
            "Protocol": "email",
            "Endpoint": ref("AlarmEmail"),
        }
        assert properties("AssignmentsTopicPolicy")["Topics"] == [
            ref("AssignmentsTopic")
        ]

    @pytest.mark.parametrize("logical_id", ["AlarmTopic", "AlarmSubscription"])
    def test_nothing_is_made_when_no_address_is_given(self, logical_id: str) -> None:
        """The default."""
        assert resource(logical_id)["Condition"] == "HasAlarmEmail"
        assert parameters()["AlarmEmail"]["Default"] == ""
        assert translated()["Conditions"]["HasAlarmEmail"] == {
            "Fn::Not": [{"Fn::Equals": [ref("AlarmEmail"), ""]}]
        }

    @pytest.mark.parametrize(
        ("address", "accepted"),
        [
            ("", True),
            ("on-call@example.com", True),
            ("on-call", False),
            ("a@b@example.com", False),
            ("on call@example.com", False),
        ],
    )
    def test_address_is_refused_when_nobody_can_have_it(
        self, address: str, *, accepted: bool
    ) -> None:
        """A typing error must not make the alarms silent."""
        pattern = parameters()["AlarmEmail"]["AllowedPattern"]

        assert bool(re.fullmatch(pattern, address)) is accepted

    @pytest.mark.parametrize("logical_id", WATCHED)
    def test_alarm_says_what_is_wrong(self, logical_id: str) -> None:
        """Its text is what a person reads at night."""
        assert properties(logical_id)["AlarmDescription"].endswith(".")

    def test_alarm_topic_is_empty_by_default(self) -> None:
        """Then the alarms notify nobody."""
        assert parameters()["AlarmTopicArn"]["Default"] == ""
        assert translated()["Conditions"]["HasAlarmTopic"] == {
            "Fn::Not": [{"Fn::Equals": [ref("AlarmTopicArn"), ""]}]
        }

    @pytest.mark.parametrize(
        ("arn", "accepted"),
        [
            ("", True),
            ("arn:aws:sns:eu-west-1:123456789012:on-call", True),
            ("arn:aws:sqs:eu-west-1:123456789012:on-call", False),
            ("on-call", False),
        ],
    )
    def test_alarm_topic_is_refused_when_it_is_no_topic(
        self, arn: str, *, accepted: bool
    ) -> None:
        """A typing error must not make the alarms silent."""
        pattern = parameters()["AlarmTopicArn"]["AllowedPattern"]

        assert bool(re.fullmatch(pattern, arn)) is accepted

    def test_one_dead_letter_raises_the_alarm(self) -> None:
        """The largest count of a single minute decides."""
        alarm = properties("DeadLettersAlarm")

        assert (alarm["Statistic"], alarm["Threshold"]) == ("Maximum", 1)
        assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
        assert (alarm["Period"], alarm["EvaluationPeriods"]) == (60, 1)

    @pytest.mark.parametrize("logical_id", OWN_METRICS)
    def test_failure_that_stays_raises_the_alarm_before_the_last_delivery(
        self, logical_id: str
    ) -> None:
        """A message that always fails is noticed while it is still in the queue."""
        alarm = properties(logical_id)
        deliveries = properties("CreateTicketQueue")["RedrivePolicy"]["maxReceiveCount"]
        last_delivery = (deliveries - 1) * visibility_timeout("0")

        assert (alarm["Statistic"], alarm["Threshold"]) == ("Sum", 1)
        assert alarm["Period"] * alarm["EvaluationPeriods"] < last_delivery

    @pytest.mark.parametrize("logical_id", OWN_METRICS)
    @pytest.mark.parametrize("window", WINDOWS)
    def test_failure_that_stays_shows_in_enough_periods(
        self, logical_id: str, window: str
    ) -> None:
        """Whichever periods are looked at, deliveries fall into enough of them."""
        alarm = properties(logical_id)
        period, evaluated = alarm["Period"], alarm["EvaluationPeriods"]

        for start in range(0, period, 10):
            shown = _periods_with_a_delivery(start, visibility_timeout(window), period)
            for first in range(max(shown) - evaluated + 2):
                seen = shown & set(range(first, first + evaluated))
                assert len(seen) >= alarm["DatapointsToAlarm"]


class TestForPeople:
    """Whoever deploys, sends, subscribes or operates is told what is what."""

    def test_description_states_the_guarantee(self) -> None:
        """In one line, as CloudFormation shows it."""
        description = source()["Description"]

        assert "without a gap" in description
        assert "\n" not in description

    def test_every_parameter_is_described(self) -> None:
        """What it does, for somebody who reads nothing else."""
        assert all(each.get("Description") for each in parameters().values())

    def test_every_output_is_described(self) -> None:
        """Exactly what producers, subscribers and operators need."""
        outputs = translated()["Outputs"]

        assert all(each.get("Description") for each in outputs.values())
        assert {name: each["Value"] for name, each in outputs.items()} == {
            "CreateTicketQueueUrl": ref("CreateTicketQueue"),
            "CreateTicketQueueArn": attribute("CreateTicketQueue"),
            "AssignmentsTopicArn": ref("AssignmentsTopic"),
            "DeadLetterQueueUrl": ref("CreateTicketDeadLetterQueue"),
            "DeadLetterQueueArn": attribute("CreateTicketDeadLetterQueue"),
            "TicketsTableName": ref("TicketsTable"),
            "IdempotencyKeysTableName": ref("IdempotencyKeysTable"),
            "WorkerFunctionName": ref("NumberingWorker"),
            "WorkerLogGroupName": ref("NumberingWorkerLogGroup"),
        }


def _environment() -> Json:
    variables: Json = worker()["Environment"]["Variables"]
    return variables


def _key(table: str) -> dict[str, tuple[str, str]]:
    """Return the role and type of each attribute of a table's key."""
    types = {
        each["AttributeName"]: each["AttributeType"]
        for each in properties(table)["AttributeDefinitions"]
    }
    return {
        each["AttributeName"]: (each["KeyType"], types[each["AttributeName"]])
        for each in properties(table)["KeySchema"]
    }


def _periods_with_a_delivery(start: int, wait: int, period: int) -> set[int]:
    """Return the periods into which ten deliveries fall, the first at `start`."""
    return {(start + delivery * wait) // period for delivery in range(10)}


def _retention_pattern() -> str:
    pattern: str = parameters()["IdempotencyRetentionDays"]["AllowedPattern"]
    return pattern


def deployed_as(environment: str) -> dict[str, str]:
    """Return the parameters of an environment of `samconfig.toml`."""
    configuration = tomllib.loads(
        TEMPLATE.with_name("samconfig.toml").read_text(encoding="utf-8")
    )
    overrides = configuration[environment]["deploy"]["parameters"].get(
        "parameter_overrides", ""
    )
    return dict(pair.split("=", 1) for pair in overrides.split())


class TestGradualDeployment:
    """A new version takes over step by step only where that is asked for."""

    @pytest.mark.parametrize("environment", ["default", "dev"])
    def test_deployment_is_accepted_as_it_is_when_it_is_not_gradual(
        self, environment: str
    ) -> None:
        """A stack to try things with wakes nobody."""
        assert refusals(**deployed_as(environment)) == []

    def test_prod_is_refused_when_nobody_hears_of_its_alarms(self) -> None:
        """The sentence names the two parameters of which one is enough."""
        [sentence] = refusals(**deployed_as("prod"))

        assert "AlarmEmail or AlarmTopicArn" in sentence

    @pytest.mark.parametrize(
        "heard",
        [
            {"AlarmEmail": "on-call@example.com"},
            {"AlarmTopicArn": "arn:aws:sns:eu-west-1:123456789012:on-call"},
        ],
        ids=lambda heard: next(iter(heard)),
    )
    def test_prod_is_accepted_when_somebody_hears_of_its_alarms(
        self, heard: dict[str, str]
    ) -> None:
        """One way is enough."""
        assert refusals(**deployed_as("prod"), **heard) == []

    def test_deployment_is_all_at_once_by_default(self) -> None:
        """Nothing of CodeDeploy is made, and the alias just moves."""
        types = {each["Type"] for each in translated()["Resources"].values()}

        assert not any("CodeDeploy" in each for each in types)
        assert (
            "UpdatePolicy" not in translated()["Resources"]["NumberingWorkerAliaslive"]
        )

    def test_deployment_shifts_and_rolls_back_on_alarms_when_gradual(self) -> None:
        """The alarms are those that a bad release sets off, and no others."""
        resources = translated(gradual_deployment="true")["Resources"]

        group = resources["NumberingWorkerDeploymentGroup"]["Properties"]
        alarms = group["AlarmConfiguration"]["Alarms"]
        assert [each["Name"] for each in alarms] == [
            ref("WorkerErrorsAlarm"),
            ref("TransientFailuresAlarm"),
            ref("AnnouncementsFailedAlarm"),
        ]
        assert group["AutoRollbackConfiguration"]["Enabled"]
        assert (
            "CodeDeployLambdaAliasUpdate"
            in (resources["NumberingWorkerAliaslive"]["UpdatePolicy"])
        )
