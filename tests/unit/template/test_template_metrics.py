"""Alarms and dashboard name metrics that exist, and alarms come in time."""

import io
import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, get_args

import pytest

from simulation.aws.lambda_service import Context
from tests.support.alarms import is_on, metrics_of
from tests.support.builders import sqs_event, sqs_record
from tests.support.markdown_commands import ROOT, commands
from tests.support.template_loader import (
    Json,
    deployed,
    deployment_type,
    ids_of,
    parameters,
    properties,
    the_only,
)
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.worker.handler import build_handler
from ticket_numbering.worker.observability import Metric, logger, metrics
from ticket_numbering.worker.results import Poison, Result, Retry

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
    ("AWS/SQS", "QueueName", "Minimum"): {"ApproximateNumberOfMessagesVisible"},
    # AWS Lambda Developer Guide, "Types of metrics for Lambda functions".
    ("AWS/Lambda", "FunctionName", "Sum"): {
        "Invocations",
        "Errors",
        "Throttles",
        "RecursiveInvocationsDropped",
    },
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
        named: list[str] = []
        for metric in widget["metrics"]:
            # A dot repeats the value of the metric before.
            named = [
                named[place] if part == "." else part
                for place, part in enumerate(metric[:4])
            ]
            own = metric[4] if len(metric) > 4 else {}
            statistic = own.get("stat", widget["stat"])
            yield Curve._make([*named, statistic, widget["period"]])


def watched(logical_id: str) -> Iterator[Curve]:
    for metric, statistic, period in metrics_of(properties(logical_id)):
        [dimension] = metric["Dimensions"]
        name, value = dimension["Name"], dimension["Value"]
        source = metric["Namespace"], metric["MetricName"]
        yield Curve(*source, name, value, statistic, period)


ALARMS = ids_of("AWS::CloudWatch::Alarm")
USED = sorted({*drawn(), *(curve for name in ALARMS for curve in watched(name))})

SECONDS = Metric.SECONDS.value
STATISTICS: dict[str, set[str]] = {
    Metric.ATTEMPTS: {"Maximum"},
    SECONDS: {"p50", "p99"},
}
"""Of the worker's metrics that are no counts."""


@pytest.fixture
def emitted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> set[tuple[str, str, str, str]]:
    """Return the metrics of a batch, of the service that the template names."""
    variables = properties("NumberingWorker")["Environment"]["Variables"]
    service = variables["POWERTOOLS_SERVICE_NAME"]
    monkeypatch.setattr(metrics.provider, "service", service)
    monkeypatch.setattr(logger.registered_handler, "stream", io.StringIO())
    build_handler(WorkerOnFakes().worker())(sqs_event(sqs_record()), Context())
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
            assert curve.statistic in STATISTICS.get(curve.name, {"Sum"})
        else:
            kind = curve.namespace, curve.dimension, curve.statistic
            assert curve.name in AWS_METRICS[kind]
            assert curve.value in RESOURCES[curve.dimension]
        assert curve.period % 60 == 0


ANSWERS: Final = [one.metric for one in get_args(Result) if one not in {Poison, Retry}]
REQUESTS = "${CreateTicketQueue.QueueName}"
DEAD_LETTERS = "${CreateTicketDeadLetterQueue.QueueName}"
WORKER = "${NumberingWorker}"
WAITING = "ApproximateNumberOfMessagesVisible"
HIDDEN = "ApproximateNumberOfMessagesNotVisible"
GAP = float("nan")
"""A period without data."""


class Cause(NamedTuple):
    """What an alarm watches, and series of its first metric that set it off."""

    metrics: set[tuple[str, str]]
    series: Sequence[Sequence[float]]


# Failures that no retry fixes, by their alarm.
CAUSES = {
    "DeadLettersAlarm": Cause(
        {(WAITING, DEAD_LETTERS), (HIDDEN, DEAD_LETTERS)},
        [[0, 1], [GAP, 1], [1, GAP, GAP, GAP, GAP]],
    ),
    # While others wait; also after some of them were settled, and if SQS reports late.
    "MoreDeadLettersAlarm": Cause(
        {(WAITING, DEAD_LETTERS)}, [[1, 2], [3, 1, 2], [1, 2, 2], [1, 2, GAP]]
    ),
    "OldDeadLettersAlarm": Cause(
        {(WAITING, DEAD_LETTERS)}, [[1] * 115, [2] * 60 + [GAP] + [1] * 59]
    ),
    "OldestMessageAgeAlarm": Cause(
        {("ApproximateAgeOfOldestMessage", REQUESTS)}, [[901] * 5]
    ),
    "BacklogAlarm": Cause({(WAITING, REQUESTS)}, [[0] + [1] * 24]),
    "WorkerErrorsAlarm": Cause({("Errors", WORKER)}, [[1, 0, GAP, 0, 1]]),
    "WorkerThrottlesAlarm": Cause({("Throttles", WORKER)}, [[1, 0, 1, 0, 1]]),
    "TransientFailuresAlarm": Cause({(Metric.TRANSIENT, "app")}, [[1, GAP, 0, 1]]),
    "AnnouncementsFailedAlarm": Cause(
        {(Metric.ANNOUNCEMENTS_FAILED, "app")}, [[1, GAP, 0, 1]]
    ),
    # All poison, in two periods of which the newest has no data yet.
    "PoisonShareAlarm": Cause(
        {(one, "app") for one in (Metric.POISON, *ANSWERS)}, [[5, 5, GAP]]
    ),
}


ON_FAILURES = ["TransientFailuresAlarm", "AnnouncementsFailedAlarm"]


class TestAlarms:
    """An alarm calls a person for failures that the system cannot fix."""

    def test_every_cause_has_its_alarm(self) -> None:
        assert {
            name: {(curve.name, curve.value) for curve in watched(name)}
            for name in ALARMS
        } == {name: cause.metrics for name, cause in CAUSES.items()}

    @pytest.mark.parametrize("logical_id", CAUSES)
    def test_alarm_is_on_when_its_cause_lasts(self, logical_id: str) -> None:
        alarm = properties(logical_id)
        first, *others = (metric["MetricName"] for metric, _, _ in metrics_of(alarm))

        for series in CAUSES[logical_id].series:
            quiet = dict.fromkeys(others, [0.0] * len(series))
            assert is_on(alarm, {first: series} | quiet)

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
        assert resources["AlarmTopic"]["Properties"] == {}
        [policy] = ids_of("AWS::SNS::TopicPolicy")
        assert "${AlarmTopic}" not in properties(policy)["Topics"]
        assert not {"AlarmTopic", "AlarmSubscription"} & deployed().keys()

    @pytest.mark.parametrize(("visible", "hidden"), [(0, 1), (GAP, 1), (1, GAP)])
    def test_one_dead_letter_raises_the_alarm_at_once_also_while_somebody_looks(
        self, visible: float, hidden: float
    ) -> None:
        alarm = properties("DeadLettersAlarm")

        assert is_on(alarm, {WAITING: [visible], HIDDEN: [hidden]})

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
            range(int(queue["RedrivePolicy"]["maxReceiveCount"])),
        )

        assert period * evaluated < deliveries[-1] * wait
        for start in range(0, period, 10):
            shown = {(start + delivery * wait) // period for delivery in deliveries}
            for first in range(max(shown) - evaluated + 2):
                seen = shown & set(range(first, first + evaluated))
                assert len(seen) >= alarm["DatapointsToAlarm"]


def test_page_shows_an_alarm_on_the_metric_of_late_announcements() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    [shown] = [one for one in commands("aws", page) if "put-metric-alarm" in one.words]

    assert {OURS, SECONDS, "Name=service,Value=$TICKETCTL_STACK"} <= {*shown.words}


class TestPoisonShare:
    """A release that refuses valid messages is noticed, and rolled back."""

    @staticmethod
    def is_on(poison: int, **answers: int) -> bool:
        """Tell whether the alarm is on after two periods with these counts."""
        counts = dict.fromkeys(ANSWERS, 0) | {Metric.POISON: poison} | answers
        samples = {name: [count] * 2 for name, count in counts.items()}
        return is_on(properties("PoisonShareAlarm"), samples)

    def test_alarm_is_on_when_a_canary_refuses_all_that_it_gets(self) -> None:
        [share] = map(int, re.findall(r"(\d+)Percent", deployment_type()))

        assert self.is_on(share, **{Metric.ASSIGNED: 100 - share})

    def test_alarm_is_off_when_few_messages_are_poison(self) -> None:
        assert not self.is_on(4)
        assert not self.is_on(5, **{Metric.ASSIGNED: 100})

    @pytest.mark.parametrize("answer", ANSWERS)
    def test_alarm_is_off_when_others_were_answered(self, answer: Metric) -> None:
        assert not self.is_on(9, **{answer: 991})
