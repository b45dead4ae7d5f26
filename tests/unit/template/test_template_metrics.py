"""Alarms and dashboard name metrics that exist, and alarms come in time."""

import io
import json
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple, get_args

import pytest

from simulation.aws.lambda_service import Context
from tests.support.alarms import is_on, late, metrics_of
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


class TestDashboard:
    """Each alarm says where to look."""

    def test_dashboard_shows_every_alarm_with_its_curve_and_what_to_do_first(
        self,
    ) -> None:
        [states], [text] = widgets("alarm"), widgets("text")

        assert states["alarms"] == [f"${{{name}.Arn}}" for name in ALARMS]
        needed = {curve[:4] for name in ALARMS for curve in watched(name)}
        assert needed <= {curve[:4] for curve in drawn()}
        [shown] = commands("ticketctl", text["markdown"])
        assert shown.words == ("--stack", "app", "--region", "${AWS::Region}", "status")
        assert "docs/on-call.md" in text["markdown"]


DEAD_LETTERS = "${CreateTicketDeadLetterQueue.QueueName}"
WAITING = "ApproximateNumberOfMessagesVisible"
HIDDEN = "ApproximateNumberOfMessagesNotVisible"
GAP = float("nan")
"""A period without data."""

# Failures that no retry fixes, by their alarm.
CAUSES = {
    "DeadLettersAlarm": {(WAITING, DEAD_LETTERS), (HIDDEN, DEAD_LETTERS)},
    "MoreDeadLettersAlarm": {(WAITING, DEAD_LETTERS)},
    "OldDeadLettersAlarm": {(WAITING, DEAD_LETTERS)},
    "OldestMessageAgeAlarm": {
        ("ApproximateAgeOfOldestMessage", "${CreateTicketQueue.QueueName}")
    },
    "BacklogAlarm": {(WAITING, "${CreateTicketQueue.QueueName}")},
    "WorkerErrorsAlarm": {("Errors", "${NumberingWorker}")},
    "WorkerThrottlesAlarm": {("Throttles", "${NumberingWorker}")},
    "TransientFailuresAlarm": {(Metric.TRANSIENT, "app")},
    "AnnouncementsFailedAlarm": {(Metric.ANNOUNCEMENTS_FAILED, "app")},
    "PoisonShareAlarm": {
        (Metric.POISON, "app"),
        (Metric.ASSIGNED, "app"),
        (Metric.REPLAYED, "app"),
        (Metric.REFUSED, "app"),
    },
}
SETS_OFF: dict[str, Sequence[Sequence[float]]] = {
    "DeadLettersAlarm": [[0, 1], [GAP, 1], [1, GAP, GAP, GAP, GAP]],
    # While others wait; also after some of them were settled, and if SQS reports late.
    "MoreDeadLettersAlarm": [[1, 2], [3, 1, 2], [1, 2, 2], [1, 2, GAP]],
    "OldDeadLettersAlarm": [[1] * 115, [2] * 60 + [GAP] + [1] * 59],
    "OldestMessageAgeAlarm": [[901] * 5],
    "BacklogAlarm": [[0] + [1] * 24],
    "WorkerErrorsAlarm": [[1, 0, GAP, 0, 1]],
    "WorkerThrottlesAlarm": [[1, 0, 1, 0, 1]],
    "TransientFailuresAlarm": [[1, GAP, 0, 1]],
    "AnnouncementsFailedAlarm": [[1, GAP, 0, 1]],
}
LEAVES_OFF: dict[str, Sequence[Sequence[float]]] = {
    "DeadLettersAlarm": [[1, 0, 0, 0, 0, 0], [1, GAP, GAP, GAP, GAP, GAP]],
    # The first is the other alarm's; fewer are good news; a gap in the data is none.
    "MoreDeadLettersAlarm": [[0, 1], [GAP, 1], [1, 1, 1], [3, 2, 0], [1, GAP, 1]],
    "OldDeadLettersAlarm": [[1] * 114, [1] * 60 + [0] * 6 + [1] * 54],
    "OldestMessageAgeAlarm": [[901] * 4 + [900]],
    "BacklogAlarm": [[1] * 23, [9] * 12 + [0] + [9] * 11],
    # A single batch that comes back.
    "WorkerErrorsAlarm": [[1, 0, 0, 0, 0, 1], [GAP]],
    "WorkerThrottlesAlarm": [[1, 1, 0, 0, 0]],
    "TransientFailuresAlarm": [[1, 0, 0, 0]],
    "AnnouncementsFailedAlarm": [[1, 0, 0, 0]],
}


def states(logical_id: str, values: dict[str, Sequence[Sequence[float]]]) -> list[bool]:
    """Return whether each series of the first metric sets the alarm off alone."""
    alarm = properties(logical_id)
    first, *others = (metric["MetricName"] for metric, _, _ in metrics_of(alarm))
    return [
        is_on(alarm, {first: one} | dict.fromkeys(others, [0.0] * len(one)))
        for one in values[logical_id]
    ]


ON_FAILURES = ["TransientFailuresAlarm", "AnnouncementsFailedAlarm"]


class TestAlarms:
    """An alarm calls a person for failures that the system cannot fix."""

    def test_every_cause_has_its_alarm(self) -> None:
        assert {
            name: {(curve.name, curve.value) for curve in watched(name)}
            for name in ALARMS
        } == CAUSES

    def test_every_alarm_is_driven_with_values(self) -> None:
        """That on the share of poison has a class of its own."""
        for values in (SETS_OFF, LEAVES_OFF):
            assert {*values, "PoisonShareAlarm"} == {*ALARMS}

    @pytest.mark.parametrize("logical_id", SETS_OFF)
    def test_alarm_is_on_when_its_cause_lasts(self, logical_id: str) -> None:
        assert all(states(logical_id, SETS_OFF))

    @pytest.mark.parametrize("logical_id", LEAVES_OFF)
    def test_alarm_is_off_when_its_cause_passes(self, logical_id: str) -> None:
        assert not any(states(logical_id, LEAVES_OFF))

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
        shapes = {(statistic, period) for _, statistic, period in metrics_of(alarm)}
        assert shapes == {("Maximum", 60)}

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


# A cause that every alarm with metric math is on for, in all metrics that it reads.
LASTING: dict[str, dict[str, list[float]]] = {
    "DeadLettersAlarm": {WAITING: [3.0] * 60, HIDDEN: [0.0] * 60},
    "MoreDeadLettersAlarm": {WAITING: [1.0, 2.0]},
    "PoisonShareAlarm": {
        Metric.POISON: [50.0] * 2,
        Metric.ASSIGNED: [0.0] * 2,
        Metric.REPLAYED: [0.0] * 2,
        Metric.REFUSED: [0.0] * 2,
    },
}
LATE = [
    (logical_id, names, periods)
    for logical_id, samples in LASTING.items()
    for size in range(len(samples))
    for names in combinations(samples, size + 1)
    for periods in (1, 2)
]


class TestLateMetrics:
    """An alarm rings although a service reports its newest minutes late, each time."""

    def test_every_alarm_with_metric_math_is_tried(self) -> None:
        assert {name for name in ALARMS if "Metrics" in properties(name)} == {*LASTING}

    @pytest.mark.parametrize(("logical_id", "names", "periods"), LATE, ids=str)
    def test_alarm_is_on_when_metrics_are_late(
        self, logical_id: str, names: tuple[str, ...], periods: int
    ) -> None:
        alarm = properties(logical_id)

        assert is_on(alarm, LASTING[logical_id])
        assert is_on(alarm, late(LASTING[logical_id], names, periods))


class TestLateAnnouncements:
    """The page shows an alarm on the metric that the worker writes."""

    def test_metric_is_one_of_the_workers(self) -> None:
        page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
        [words] = [
            shown.words[2:]
            for shown in commands("aws", page)
            if "put-metric-alarm" in shown.words
        ]
        alarm = dict(zip(words[::2], words[1::2], strict=True))

        assert (alarm["--namespace"], alarm["--metric-name"]) == (OURS, SECONDS)
        assert alarm["--dimensions"] == "Name=service,Value=$TICKETCTL_STACK"
        assert alarm["--extended-statistic"] == "p99"
        assert alarm["--threshold"] == "60"
        assert alarm["--comparison-operator"].startswith("GreaterThan")


ANSWERS: Final = [one.metric for one in get_args(Result) if one not in {Poison, Retry}]


class TestPoisonShare:
    """A release that refuses valid messages is noticed, and rolled back."""

    @staticmethod
    def is_on(poison: Sequence[float], **others: Sequence[float]) -> bool:
        """Tell whether the alarm is on; by default each period assigns 100 numbers."""
        samples: dict[str, Sequence[float]] = {
            **dict.fromkeys(ANSWERS, [0.0] * len(poison)),
            Metric.ASSIGNED: [100.0] * len(poison),
            Metric.POISON: poison,
        }
        return is_on(properties("PoisonShareAlarm"), samples | others)

    def test_alarm_is_on_when_a_canary_refuses_all_that_it_gets(self) -> None:
        [share] = re.findall(r"(\d+)Percent", deployment_type())

        assert self.is_on([int(share)] * 2, assigned=[100.0 - int(share)] * 2)

    def test_alarm_is_on_when_a_release_refuses_all(self) -> None:
        assert self.is_on([50, 50], **{Metric.ASSIGNED: [0, 0]})

    def test_alarm_is_off_when_few_messages_are_poison(self) -> None:
        assert not self.is_on([4, 4, 4, 4], **{Metric.ASSIGNED: [0, 0, 0, 0]})
        assert not self.is_on([5, 5, 5, 5])

    def test_alarm_is_off_when_the_share_lasts_one_period(self) -> None:
        assert not self.is_on([0, 50, 0, 0])
        assert not self.is_on([GAP, 50, GAP, GAP])

    @pytest.mark.parametrize("answer", ANSWERS)
    def test_alarm_is_off_when_others_were_answered(self, answer: Metric) -> None:
        assert not self.is_on([9, 9], **{Metric.ASSIGNED: [0, 0], answer: [991, 991]})
