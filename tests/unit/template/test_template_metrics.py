"""Alarms name metrics that exist, and come in time."""

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, get_args

import pytest

from simulation.aws.lambda_service import Context
from tests.support.alarms import is_on, metrics_of
from tests.support.builders import sqs_event, sqs_record
from tests.support.paths import ROOT
from tests.support.template_loader import (
    deployed,
    deployment_type,
    ids_of,
    parameters,
    properties,
    the_only,
)
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.worker.handler import build_handler
from ticket_numbering.worker.observability import NAMESPACE, Metric, logger, metrics
from ticket_numbering.worker.results import Poison, Result, Retry


class Curve(NamedTuple):
    """A metric as an alarm names it."""

    namespace: str
    name: str
    dimension: str
    value: str
    statistic: str


def watched(logical_id: str) -> Iterator[Curve]:
    for metric, statistic, _ in metrics_of(properties(logical_id)):
        [dimension] = metric["Dimensions"]
        source = metric["Namespace"], metric["MetricName"]
        yield Curve(*source, dimension["Name"], dimension["Value"], statistic)


ALARMS = ids_of("AWS::CloudWatch::Alarm")
SECONDS = Metric.SECONDS.value
IN_LINE = Metric.SECONDS_IN_LINE.value


# The services' guides; a count adds up, a level does not. Not DynamoDB's
# ThrottledRequests: it needs the dimension Operation too.
LEVELS = {
    Metric.ATTEMPTS,
    "ApproximateAgeOfOldestMessage",
    *(f"ApproximateNumberOfMessages{x}" for x in ("Delayed", "NotVisible", "Visible")),
}
COUNTS = {
    *({*Metric} - {Metric.ATTEMPTS, SECONDS, IN_LINE}),
    *("Invocations", "Errors", "Throttles", "RecursiveInvocationsDropped"),
    *("ReadThrottleEvents", "WriteThrottleEvents", "TransactionConflict"),
    "NumberOfMessagesPublished",
    *(f"NumberOfNotifications{x}" for x in ("Delivered", "Failed", "RedrivenToDlq")),
    "NumberOfNotificationsFailedToRedriveToDlq",
}


class TestMetrics:
    """A misspelt metric would draw an empty curve and never raise an alarm."""

    def test_alarms_watch_metrics_that_the_worker_writes(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With exactly these dimensions, of the service that the template names."""
        variables = properties("NumberingWorker")["Environment"]["Variables"]
        service = variables["POWERTOOLS_SERVICE_NAME"]
        monkeypatch.setattr(metrics.provider, "service", service)
        monkeypatch.setattr(logger.registered_handler, "stream", io.StringIO())

        build_handler(WorkerOnFakes().worker())(sqs_event(sqs_record()), Context())

        written = {
            (directive["Namespace"], metric["Name"], name, line[name])
            for line in map(json.loads, capsys.readouterr().out.splitlines())
            for directive in line["_aws"]["CloudWatchMetrics"]
            for metric in directive["Metrics"]
            if metric["Name"] in set(Metric)
            for [name] in directive["Dimensions"]
        }
        curves = (curve for name in ALARMS for curve in watched(name))
        ours = {curve[:4] for curve in curves if curve.namespace == NAMESPACE}
        assert {name for _, name, *_ in written} == {*Metric} - {IN_LINE}
        assert written >= ours

    @pytest.mark.parametrize("chosen", [{}, {"GradualDeployment": "true"}])
    def test_dashboard_has_every_alarm_and_adds_up_what_counts(
        self, chosen: dict[str, str]
    ) -> None:
        body = the_only("AWS::CloudWatch::Dashboard", **chosen)["DashboardBody"]

        names, name = defaultdict[str, set[str]](set), ""
        for widget in json.loads(body)["widgets"]:
            for metric in (shown := widget["properties"]).get("metrics", ()):
                # A dot repeats the name of the metric before.
                name = metric[1] if metric[1] != "." else name
                own = metric[-1] if isinstance(metric[-1], dict) else {}
                names[own.get("stat", shown["stat"])].add(name)
        assert names == {
            "Maximum": LEVELS,
            "Sum": COUNTS,
            "p50": {SECONDS},
            "p99": {SECONDS, IN_LINE, "Duration"},
        }
        alarms = ids_of("AWS::CloudWatch::Alarm", **chosen)
        absent = [alarm for alarm in alarms if f'"${{{alarm}.Arn}}"' not in body]
        assert absent == [], "add their ARNs to the dashboard's widget Alarms"


ANSWERS: Final = [
    result.metric for result in get_args(Result) if result not in {Poison, Retry}
]
WAITING = "ApproximateNumberOfMessagesVisible"
DELETED = "NumberOfMessagesDeleted"
HIDDEN = "ApproximateNumberOfMessagesNotVisible"
GAP = float("nan")
"""A period without data."""
SHARE = "PoisonShareAlarm"
CANARY = int(re.findall(r"(\d+)Percent", deployment_type())[0])
"""The percentage of messages that a new version gets at first."""


def of_queue(name: str, metric: str, statistic: str = "Maximum") -> Curve:
    """Amazon SQS Developer Guide, "Available CloudWatch metrics for Amazon SQS"."""
    return Curve("AWS/SQS", metric, "QueueName", f"${{{name}.QueueName}}", statistic)


def of_function(metric: str) -> Curve:
    """AWS Lambda Developer Guide, "Types of metrics for Lambda functions"."""
    return Curve("AWS/Lambda", metric, "FunctionName", "${NumberingWorker}", "Sum")


def of_stack(metric: Metric) -> Curve:
    return Curve(NAMESPACE, metric, "service", "app", "Sum")


REQUESTS, LETTERS = "CreateTicketQueue", "CreateTicketDeadLetterQueue"
# Failures that no retry fixes: the metrics of each alarm, and series of the first one
# that set it off.
CAUSES: dict[str, tuple[set[Curve], Sequence[Sequence[float]]]] = {
    "DeadLettersAlarm": (
        {of_queue(LETTERS, WAITING), of_queue(LETTERS, HIDDEN)},
        [[0, 1], [GAP, 1], [1, GAP, GAP, GAP, GAP]],
    ),
    # While others wait; also after some of them were settled, and if SQS reports late.
    "MoreDeadLettersAlarm": (
        {of_queue(LETTERS, WAITING)},
        [[1, 2], [3, 1, 2], [1, 2, 2], [1, 2, GAP]],
    ),
    "OldDeadLettersAlarm": (
        {of_queue(LETTERS, WAITING)},
        [[1] * 115, [2] * 60 + [GAP] + [1] * 59],
    ),
    "OldestMessageAgeAlarm": (
        {of_queue(REQUESTS, "ApproximateAgeOfOldestMessage")},
        [[901] * 5],
    ),
    # With no data of deletions; more of them are below.
    "BacklogAlarm": (
        {of_queue(REQUESTS, WAITING, "Minimum"), of_queue(REQUESTS, DELETED, "Sum")},
        [[0] + [1] * 24],
    ),
    "WorkerErrorsAlarm": ({of_function("Errors")}, [[1, 0, GAP, 0, 1]]),
    "WorkerThrottlesAlarm": ({of_function("Throttles")}, [[1, 0, 1, 0, 1]]),
    "TransientFailuresAlarm": ({of_stack(Metric.TRANSIENT)}, [[1, GAP, 0, 1]]),
    "AnnouncementsFailedAlarm": (
        {of_stack(Metric.ANNOUNCEMENTS_FAILED)},
        [[1, GAP, 0, 1]],
    ),
    # Of the two metrics only that of Lambda has data.
    "MetricsMissingAlarm": (
        {of_function("Invocations"), of_stack(Metric.ASSIGNED)},
        [[1, GAP, 7, 1, 0], [1] * 5],
    ),
    # All is poison, for two periods; the newest has no data yet.
    SHARE: ({of_stack(metric) for metric in (Metric.POISON, *ANSWERS)}, [[5, 5, GAP]]),
}

PASSING: dict[str, Sequence[Sequence[float]]] = {
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
    # Nothing runs; or the worker's metrics are late.
    "MetricsMissingAlarm": [[GAP] * 5, [0] * 5, [0, 0, 0, 9, 9]],
    SHARE: [[0, 50, 0, 0]],
}
"""Series of the first metric that raise no alarm."""


class TestAlarms:
    """An alarm calls a person for failures that the system cannot fix."""

    def test_every_cause_has_its_alarm(self) -> None:
        due = {name: curves for name, (curves, _) in CAUSES.items()}

        assert {name: {*watched(name)} for name in ALARMS} == due, (
            "give each alarm its curves and series in CAUSES, and in PASSING"
        )

    @pytest.mark.parametrize("logical_id", CAUSES)
    def test_alarm_is_on_only_when_its_cause_lasts(self, logical_id: str) -> None:
        alarm = properties(logical_id)
        first, *others = (metric["MetricName"] for metric, _, _ in metrics_of(alarm))

        lasting = [(series, True) for series in CAUSES[logical_id][1]]
        passing = [(series, False) for series in PASSING[logical_id]]
        for series, expected in lasting + passing:
            nothing = GAP if logical_id == "MetricsMissingAlarm" else 0.0
            quiet = dict.fromkeys(others, [nothing] * len(series))
            assert is_on(alarm, {first: series} | quiet) is expected

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

        assert alarm.get("AlarmActions") == alarm.get("OKActions") == notified
        assert alarm.get("TreatMissingData") == "notBreaching"

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

    @pytest.mark.parametrize(
        ("logical_id", "shown", "expected"),
        [
            # A look hides a dead letter.
            ("DeadLettersAlarm", {WAITING: 0, HIDDEN: 1}, True),
            ("DeadLettersAlarm", {WAITING: GAP, HIDDEN: 1}, True),
            ("DeadLettersAlarm", {WAITING: 1, HIDDEN: GAP}, True),
            # A release that refuses all that it gets is noticed, and rolled back.
            (SHARE, {Metric.POISON: CANARY, Metric.ASSIGNED: 100 - CANARY}, True),
            (SHARE, {Metric.POISON: 4}, False),
            (SHARE, {Metric.POISON: 5, Metric.ASSIGNED: 100}, False),
            *((SHARE, {Metric.POISON: 9, metric: 991}, False) for metric in ANSWERS),
        ],
    )
    def test_alarm_on_several_metrics_weighs_them_against_each_other(
        self, logical_id: str, shown: dict[str, float], *, expected: bool
    ) -> None:
        alarm = properties(logical_id)
        counts = {metric["MetricName"]: 0.0 for metric, _, _ in metrics_of(alarm)}

        periods = {name: [count] * 2 for name, count in (counts | shown).items()}
        assert is_on(alarm, periods) is expected

    @pytest.mark.parametrize(
        ("stays", "deleted", "expected"),
        [
            (1.0, 0.0, True),
            (1.0, GAP, True),
            (61.0, 3_600.0, True),
            (60.0, 3_600.0, False),
        ],
        ids=str,
    )
    def test_backlog_is_an_alarm_only_when_over_a_minute_of_work_stays(
        self, stays: float, deleted: float, *, expected: bool
    ) -> None:
        """Beside a stopped worker one message will do, received three times or not.

        A worker that keeps up has less at any rate, and on FIFO queues, too.
        """
        samples = {WAITING: [stays] * 24, DELETED: [deleted] * 24}

        assert is_on(properties("BacklogAlarm"), samples) is expected

    @pytest.mark.parametrize("assigned", [0.0, 5.0])
    def test_metrics_are_not_missing_when_one_of_them_is_zero(
        self, assigned: float
    ) -> None:
        """Each invocation has every count, so a batch of replays is no alarm."""
        samples = {"Invocations": [9.0] * 5, Metric.ASSIGNED: [assigned] * 5}

        assert not is_on(properties("MetricsMissingAlarm"), samples)

    @pytest.mark.parametrize("logical_id", [*ALARMS, "CanaryErrorsAlarm"])
    def test_alarm_says_where_and_how_to_begin(self, logical_id: str) -> None:
        """A phone shows this text alone; the page's headings are names of alarms."""
        text = properties(logical_id, GradualDeployment="true")["AlarmDescription"]

        where = re.search(r"\. docs/on-call\.md, (\w+): (.+)$", text)

        assert where is not None
        assert where[1] == logical_id
        page = (ROOT / "docs/on-call.md").read_text(encoding="utf-8")
        headings = " ".join(re.findall("^### .*$", page, re.MULTILINE))
        named = re.findall(r"`(\w+)`", headings)
        assert logical_id in named, "give it a heading ### in docs/on-call.md"

    @pytest.mark.parametrize(
        "logical_id", ["TransientFailuresAlarm", "AnnouncementsFailedAlarm"]
    )
    @pytest.mark.parametrize(
        "window", parameters()["MaximumBatchingWindow"]["AllowedValues"]
    )
    def test_failure_that_stays_raises_the_alarm_before_the_last_delivery(
        self, logical_id: str, window: str
    ) -> None:
        """In any evaluated periods enough of them have deliveries."""
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
