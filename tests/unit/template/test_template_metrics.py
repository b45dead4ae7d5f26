"""Alarms and dashboard name metrics that exist, and alarms come in time."""

import io
import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from simulation.aws.lambda_service import Context
from tests.support.builders import SOURCE, sqs_event, sqs_record
from tests.support.fakes import (
    FakeDeadLetters,
    FakePublisher,
    FakeTicketStore,
)
from tests.support.markdown_commands import commands
from tests.support.template_loader import (
    Json,
    deployed,
    ids_of,
    parameters,
    properties,
    the_only,
)
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.worker.handler import build_handler
from ticket_numbering.worker.observability import Metric, logger, metrics
from ticket_numbering.worker.worker import Worker

OURS = "TicketNumbering"

# Metrics of AWS, and the statistic that fits: a count adds up, a level does not.
# Not DynamoDB's ThrottledRequests: it needs the dimension Operation too.
AWS_METRICS = {
    # Amazon SQS Developer Guide, "Available CloudWatch metrics for Amazon SQS".
    ("AWS/SQS", "QueueName", "Maximum"): {
        "ApproximateNumberOfMessagesVisible",
        "ApproximateNumberOfMessagesNotVisible",
        "ApproximateNumberOfMessagesDelayed",
        "ApproximateAgeOfOldestMessage",
    },
    # AWS Lambda Developer Guide, "Types of metrics for Lambda functions".
    ("AWS/Lambda", "FunctionName", "Sum"): {"Invocations", "Errors", "Throttles"},
    ("AWS/Lambda", "FunctionName", "p99"): {"Duration"},
    # Amazon DynamoDB Developer Guide, "DynamoDB metrics and dimensions".
    ("AWS/DynamoDB", "TableName", "Sum"): {
        "ReadThrottleEvents",
        "WriteThrottleEvents",
        "TransactionConflict",
    },
    # Amazon SNS Developer Guide, "Monitoring Amazon SNS topics using CloudWatch".
    ("AWS/SNS", "TopicName", "Sum"): {
        "NumberOfMessagesPublished",
        "NumberOfNotificationsDelivered",
        "NumberOfNotificationsFailed",
        "NumberOfNotificationsRedrivenToDlq",
        "NumberOfNotificationsFailedToRedriveToDlq",
    },
}
RESOURCES = {
    "QueueName": {f"${{{name}.QueueName}}" for name in ids_of("AWS::SQS::Queue")},
    "FunctionName": {"${NumberingWorker}"},
    "TableName": {f"${{{name}}}" for name in ids_of("AWS::DynamoDB::Table")},
    "TopicName": {"${AssignmentsTopic.TopicName}"},
}


class Curve(NamedTuple):
    """A metric as alarms and widgets name it."""

    namespace: str
    name: str
    dimension: str
    value: str
    statistic: str
    period: int

    def __str__(self) -> str:
        return f"{self.name} of {self.value}"


def widgets(kind: str) -> list[Json]:
    body = json.loads(the_only("AWS::CloudWatch::Dashboard")["DashboardBody"])
    return [
        widget["properties"] for widget in body["widgets"] if widget["type"] == kind
    ]


def drawn() -> Iterator[Curve]:
    for widget in widgets("metric"):
        for metric in widget["metrics"]:
            own = metric[4] if len(metric) > 4 else {}
            statistic = own.get("stat", widget["stat"])
            yield Curve._make([*metric[:4], statistic, widget["period"]])


def watched(logical_id: str) -> Curve:
    alarm = properties(logical_id)
    [dimension] = alarm["Dimensions"]
    return Curve(
        alarm["Namespace"],
        alarm["MetricName"],
        dimension["Name"],
        dimension["Value"],
        alarm["Statistic"],
        alarm["Period"],
    )


ALARMS = ids_of("AWS::CloudWatch::Alarm")
USED = sorted({*drawn(), *map(watched, ALARMS)})


@pytest.fixture
def emitted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> set[tuple[str, str, str, str]]:
    """Return the metrics of a batch, of the service that the template names."""
    variables = properties("NumberingWorker")["Environment"]["Variables"]
    service = variables["POWERTOOLS_SERVICE_NAME"]
    monkeypatch.setattr(metrics.provider, "service", service)
    monkeypatch.setattr(logger.registered_handler, "stream", io.StringIO())
    allocator = Allocator(FakeTicketStore(), 3, 10.0)
    worker = Worker(allocator, FakePublisher(), FakeDeadLetters(), source=SOURCE)
    build_handler(worker)(sqs_event(sqs_record()), Context())
    return {
        (directive["Namespace"], metric["Name"], name, line[name])
        for line in map(json.loads, capsys.readouterr().out.splitlines())
        for directive in line["_aws"]["CloudWatchMetrics"]
        for metric in directive["Metrics"]
        if metric["Name"] in set(Metric)
        for [name] in directive["Dimensions"]
    }


class TestMetrics:
    """A misspelt metric would draw an empty curve and never raise an alarm."""

    def test_metrics_of_the_worker_are_those_of_the_template(
        self, emitted: set[tuple[str, str, str, str]]
    ) -> None:
        """With exactly these dimensions; all metrics of the worker can be seen."""
        assert emitted == {curve[:4] for curve in drawn() if curve.namespace == OURS}
        assert emitted >= {curve[:4] for curve in USED if curve.namespace == OURS}

    @pytest.mark.parametrize("curve", USED, ids=str)
    def test_metric_is_described_and_added_up_where_it_counts(
        self, curve: Curve
    ) -> None:
        """None of them comes more often than once a minute."""
        if curve.namespace == OURS:
            fits = "Maximum" if curve.name == Metric.ATTEMPTS else "Sum"
            assert curve.statistic == fits
        else:
            kind = curve.namespace, curve.dimension, curve.statistic
            assert curve.name in AWS_METRICS[kind]
            assert curve.value in RESOURCES[curve.dimension]
        assert curve.period % 60 == 0


class TestDashboard:
    """Each alarm says where to look."""

    def test_dashboard_shows_every_alarm_with_its_curve_and_what_to_do_first(
        self,
    ) -> None:
        [states], [text] = widgets("alarm"), widgets("text")

        assert states["alarms"] == [f"${{{name}.Arn}}" for name in ALARMS]
        assert {watched(name)[:4] for name in ALARMS} <= {c[:4] for c in drawn()}
        [shown] = commands("ticketctl", text["markdown"])
        assert shown.words == ("--stack", "app", "--region", "${AWS::Region}", "status")
        assert "docs/operations.md" in text["markdown"]


# Failures that no retry fixes, by their alarm.
CAUSES = {
    "DeadLettersAlarm": (
        "ApproximateNumberOfMessagesVisible",
        "${CreateTicketDeadLetterQueue.QueueName}",
    ),
    "OldestMessageAgeAlarm": (
        "ApproximateAgeOfOldestMessage",
        "${CreateTicketQueue.QueueName}",
    ),
    "WorkerErrorsAlarm": ("Errors", "${NumberingWorker}"),
    "WorkerThrottlesAlarm": ("Throttles", "${NumberingWorker}"),
    "TransientFailuresAlarm": (Metric.TRANSIENT, "app"),
    "AnnouncementsFailedAlarm": (Metric.ANNOUNCEMENTS_FAILED, "app"),
}
ON_FAILURES = ["TransientFailuresAlarm", "AnnouncementsFailedAlarm"]


class TestAlarms:
    """An alarm calls a person for failures that the system cannot fix."""

    def test_every_cause_has_its_alarm(self) -> None:
        curves = {name: watched(name) for name in ALARMS}

        assert {name: (c.name, c.value) for name, c in curves.items()} == CAUSES

    @pytest.mark.parametrize("logical_id", ALARMS)
    @pytest.mark.parametrize(
        ("chosen", "notified"),
        [
            ({}, []),
            ({"AlarmTopicArn": "arn"}, ["arn"]),
            ({"AlarmEmail": "a@b.example"}, ["${AlarmTopic}"]),
            ({"AlarmTopicArn": "arn", "AlarmEmail": "a@b.c"}, ["arn", "${AlarmTopic}"]),
        ],
        ids=str,
    )
    def test_alarm_notifies_whoever_is_named_of_trouble_and_its_end(
        self, logical_id: str, chosen: dict[str, str], notified: list[str]
    ) -> None:
        alarm = properties(logical_id, **chosen)

        assert alarm["AlarmActions"] == alarm["OKActions"] == notified
        assert alarm["TreatMissingData"] == "notBreaching"

    def test_address_is_subscribed_to_a_topic_that_cloudwatch_may_use(self) -> None:
        """It may not use AWS's key of SNS; the topic's default policy lets it publish.

        A subscription within the topic would stay when the address changes.
        """
        resources = deployed(AlarmEmail="a@b.example")

        subscription = resources["AlarmSubscription"]["Properties"]
        assert subscription["TopicArn"] == "${AlarmTopic}"
        assert subscription["Endpoint"] == "a@b.example"
        assert "Properties" not in resources["AlarmTopic"]
        [policy] = ids_of("AWS::SNS::TopicPolicy")
        assert "${AlarmTopic}" not in properties(policy)["Topics"]
        assert not {"AlarmTopic", "AlarmSubscription"} & deployed().keys()

    def test_one_dead_letter_raises_the_alarm_at_once(self) -> None:
        alarm = properties("DeadLettersAlarm")

        assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
        assert (alarm["Statistic"], alarm["Threshold"]) == ("Maximum", 1)
        assert alarm["Period"] * alarm["EvaluationPeriods"] == 60

    @pytest.mark.parametrize("logical_id", ON_FAILURES)
    @pytest.mark.parametrize(
        "window", parameters()["MaximumBatchingWindow"]["AllowedValues"]
    )
    def test_failure_that_stays_raises_the_alarm_before_the_last_delivery(
        self, logical_id: str, window: str
    ) -> None:
        """Whichever periods are looked at, deliveries fall into enough of them."""
        alarm = properties(logical_id)
        period, evaluated = alarm["Period"], alarm["EvaluationPeriods"]
        queue = properties("CreateTicketQueue", MaximumBatchingWindow=window)
        wait, deliveries = (
            queue["VisibilityTimeout"],
            range(queue["RedrivePolicy"]["maxReceiveCount"]),
        )

        assert (alarm["Statistic"], alarm["Threshold"]) == ("Sum", 1)
        assert period * evaluated < deliveries[-1] * wait
        for start in range(0, period, 10):
            shown = {(start + delivery * wait) // period for delivery in deliveries}
            for first in range(max(shown) - evaluated + 2):
                seen = shown & set(range(first, first + evaluated))
                assert len(seen) >= alarm["DatapointsToAlarm"]
