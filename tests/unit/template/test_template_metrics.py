"""Every metric that the template names is one that somebody reports, and back."""

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from simulation.aws.lambda_service import Context
from tests.support.aws_metrics import AWS_METRICS
from tests.support.builders import sqs_event, sqs_record
from tests.support.fakes import (
    FakeDeadLetters,
    FakePublisher,
    FakeTicketStore,
    FakeTime,
)
from tests.support.template_loader import Json, ids_of, properties, the_only
from ticket_numbering.allocation import Allocator
from ticket_numbering.errors import StoreUnavailableError
from ticket_numbering.handler import build_handler
from ticket_numbering.observability import Metric, logger, metrics
from ticket_numbering.ports import Block, Cancelled, Reason, Slot
from ticket_numbering.worker import Worker

COLD_START = "ColdStart"
"""Of Powertools, with the function's name besides; nobody needs a curve of it."""


@dataclass(frozen=True)
class Used:
    """A metric as the template names it."""

    where: str
    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...]
    statistic: str
    period: int

    @property
    def is_ours(self) -> bool:
        """Whether the worker reports it."""
        return self.namespace == "TicketNumbering"


@dataclass(frozen=True)
class Emitted:
    """A metric that the worker put into a line of its log."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...]
    unit: str


def readable(part: Any) -> str:
    """Return a reference as the dashboard's are made readable."""
    match part:
        case {"Ref": str(name)}:
            return f"<{name}>"
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"<{name}.{attribute}>"
    return str(part)


def dashboard() -> Json:
    """Return the dashboard, with references made readable."""
    body = the_only("AWS::CloudWatch::Dashboard")["DashboardBody"]["Fn::Sub"]
    found: Json = json.loads(re.sub(r"\$\{([^}]+)\}", r"<\1>", body))
    return found


def drawn() -> Iterator[Used]:
    """Yield the metrics of all widgets."""
    for widget in dashboard()["widgets"]:
        shared = widget["properties"]
        for namespace, name, *rest in shared.get("metrics", []):
            own = rest.pop() if isinstance(rest[-1], dict) else {}
            pairs = tuple(zip(rest[::2], rest[1::2], strict=True))
            statistic = own.get("stat", shared["stat"])
            yield Used(
                shared["title"], namespace, name, pairs, statistic, shared["period"]
            )


def alarmed() -> Iterator[Used]:
    """Yield the metrics of all alarms."""
    for logical_id in ids_of("AWS::CloudWatch::Alarm"):
        alarm = properties(logical_id)
        pairs = tuple(
            (each["Name"], readable(each["Value"])) for each in alarm["Dimensions"]
        )
        yield Used(
            logical_id,
            alarm["Namespace"],
            alarm["MetricName"],
            pairs,
            alarm["Statistic"],
            alarm["Period"],
        )


USED = [*drawn(), *alarmed()]
OURS = [each for each in USED if each.is_ours]
THEIRS = [each for each in USED if not each.is_ours]


def named(used: Used) -> str:
    """Name a test."""
    return f"{used.where}: {used.name}"


@dataclass
class Function:
    """The function as the template configures its metrics, over fakes."""

    printed: pytest.CaptureFixture[str]
    store: FakeTicketStore = field(default_factory=FakeTicketStore)
    publisher: FakePublisher = field(default_factory=FakePublisher)

    def emits(self, *records: Json) -> dict[Emitted, list[float]]:
        """Handle a batch, and return the metrics with their values."""
        allocator = Allocator(self.store, 3, 10.0)
        sleep = FakeTime().sleep
        worker = Worker(allocator, self.publisher, FakeDeadLetters(), sleep)
        build_handler(worker)(sqs_event(*records), Context())
        return dict(_embedded(self.printed.readouterr().out))


@pytest.fixture
def function(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Function:
    """Return the function with the service of the template."""
    variables = properties("NumberingWorker")["Environment"]["Variables"]
    service = readable(variables["POWERTOOLS_SERVICE_NAME"])
    monkeypatch.setattr(metrics.provider, "service", service)
    monkeypatch.setattr(logger.registered_handler, "stream", io.StringIO())
    return Function(capsys)


def _embedded(printed: str) -> Iterator[tuple[Emitted, list[float]]]:
    """Yield what CloudWatch makes of lines in its embedded metric format."""
    for line in map(json.loads, printed.splitlines()):
        for directive in line["_aws"]["CloudWatchMetrics"]:
            [names] = directive["Dimensions"]
            pairs = tuple((each, line[each]) for each in names)
            for metric in directive["Metrics"]:
                name, unit = metric["Name"], metric["Unit"]
                if name != COLD_START:
                    found = Emitted(directive["Namespace"], name, pairs, unit)
                    yield found, line[name]


def conflict(block: Block) -> Cancelled:
    """Cancel a write because somebody holds its items."""
    return Cancelled([Slot(Reason.CONFLICT)] * len(block.requests))


def collision(_: Block) -> Cancelled:
    """Cancel a write because its number is taken."""
    return Cancelled([Slot(ticket=Reason.CONDITION_FAILED)])


def assigned(function: Function) -> list[Json]:
    """Nothing is in the way."""
    assert function.store.faults == []
    return [sqs_record()]


def replayed(function: Function) -> list[Json]:
    """The request was answered before."""
    record = sqs_record()
    function.emits(record)
    return [record]


def poison(_: Function) -> list[Json]:
    """The message can never succeed."""
    return [sqs_record("{")]


def transient(function: Function) -> list[Json]:
    """The store does not answer."""
    function.store.read_errors += [StoreUnavailableError("down")] * 9
    return [sqs_record()]


def announcement_failed(function: Function) -> list[Json]:
    """SNS does not take the first number's announcement."""
    function.publisher.refused = {"PROJ-1"}
    return [sqs_record()]


def conflicting(function: Function) -> list[Json]:
    """Somebody holds the number at the first try."""
    function.store.faults.append(conflict)
    return [sqs_record()]


def colliding(function: Function) -> list[Json]:
    """Somebody has taken the number at the first try."""
    function.store.faults.append(collision)
    return [sqs_record()]


CASES: dict[Callable[[Function], list[Json]], set[str]] = {
    assigned: {"TicketNumbersAssigned", "AttemptsPerBlock"},
    replayed: {"AssignmentsReplayed"},
    poison: {"PoisonMessages"},
    transient: {"TransientFailures"},
    announcement_failed: {
        "TransientFailures",
        "AnnouncementsFailed",
        "AttemptsPerBlock",
    },
    conflicting: {"TicketNumbersAssigned", "SequenceConflicts", "AttemptsPerBlock"},
    colliding: {"TicketNumbersAssigned", "SequenceCollisions", "AttemptsPerBlock"},
}


class TestOwnMetrics:
    """What the worker reports and what the template watches are the same."""

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
    def test_case_is_counted_under_a_name_that_the_dashboard_has(
        self, function: Function, case: Callable[[Function], list[Json]]
    ) -> None:
        """The real handler is driven into each case."""
        emitted = function.emits(*case(function))

        counted = {each.name for each, values in emitted.items() if sum(values)}
        assert counted == CASES[case]
        assert counted <= {each.name for each in drawn()}

    @pytest.mark.parametrize("used", OURS, ids=named)
    def test_metric_of_the_template_is_one_that_the_worker_emits(
        self, function: Function, used: Used
    ) -> None:
        """With this name, in this namespace, with exactly these dimensions."""
        emitted = {
            (each.namespace, each.name, each.dimensions)
            for each in function.emits(sqs_record())
        }

        assert (used.namespace, used.name, used.dimensions) in emitted

    def test_metric_of_the_worker_is_on_the_dashboard(self, function: Function) -> None:
        """Whatever the worker counts can be seen."""
        shown = {(each.name, each.dimensions) for each in drawn() if each.is_ours}

        assert {
            (each.name, each.dimensions) for each in function.emits(sqs_record())
        } == shown

    @pytest.mark.parametrize("used", OURS, ids=named)
    def test_statistic_fits_what_is_counted(
        self, function: Function, used: Used
    ) -> None:
        """Counts add up; of the attempts for a block the most is what hurts."""
        units = {each.name: each.unit for each in function.emits(sqs_record())}

        assert units[used.name] == "Count"
        expected = "Maximum" if used.name == Metric.ATTEMPTS else "Sum"
        assert used.statistic == expected


class TestMetricsOfAws:
    """Names, dimensions and statistics are those that AWS describes."""

    @pytest.mark.parametrize("used", THEIRS, ids=named)
    def test_metric_is_described_by_aws(self, used: Used) -> None:
        """A misspelt one would draw an empty curve and never raise an alarm."""
        described = AWS_METRICS[used.namespace, used.name]

        assert tuple(name for name, _ in used.dimensions) == described.dimensions
        assert used.statistic in described.statistics

    @pytest.mark.parametrize("used", THEIRS, ids=named)
    def test_dimension_is_a_resource_of_the_stack(self, used: Used) -> None:
        """Of the kind that the dimension names."""
        kinds = {
            "QueueName": {
                "<CreateTicketQueue.QueueName>",
                "<CreateTicketDeadLetterQueue.QueueName>",
            },
            "FunctionName": {"<NumberingWorker>"},
            "TableName": {"<TicketsTable>", "<IdempotencyKeysTable>"},
            "TopicName": {"<AssignmentsTopic.TopicName>"},
        }
        [(name, value)] = used.dimensions

        assert value in kinds[name]

    @pytest.mark.parametrize("used", USED, ids=named)
    def test_period_is_whole_minutes(self, used: Used) -> None:
        """None of these metrics comes more often than once a minute."""
        assert used.period >= 60
        assert used.period % 60 == 0


class TestDashboard:
    """Who is called by an alarm finds what to look at."""

    def test_dashboard_shows_the_metrics_that_raise_alarms(self) -> None:
        """Each alarm's curve is there."""
        curves = {(each.namespace, each.name, each.dimensions) for each in drawn()}

        assert curves >= {
            (each.namespace, each.name, each.dimensions) for each in alarmed()
        }

    def test_dashboard_shows_the_state_of_each_alarm(self) -> None:
        """All of the template's alarms, and no other."""
        [widget] = widgets("alarm")

        assert widget["properties"]["alarms"] == [
            f"<{each}.Arn>" for each in ids_of("AWS::CloudWatch::Alarm")
        ]

    def test_dashboard_says_what_to_do_first(self) -> None:
        """A command that can be copied, and where to read on."""
        [widget] = widgets("text")

        text = widget["properties"]["markdown"]
        assert (
            "ticketctl --stack <AWS::StackName> --region <AWS::Region> status" in text
        )
        assert "docs/operations.md" in text

    @pytest.mark.parametrize("table", ["TicketsTable", "IdempotencyKeysTable"])
    @pytest.mark.parametrize("metric", ["ReadThrottleEvents", "WriteThrottleEvents"])
    def test_dashboard_shows_throttles_of_both_tables(
        self, table: str, metric: str
    ) -> None:
        """Reads and writes have limits of their own."""
        dimensions = (("TableName", f"<{table}>"),)

        assert any(
            (each.name, each.dimensions) == (metric, dimensions) for each in drawn()
        )

    def test_widgets_lie_side_by_side(self) -> None:
        """On a grid of 24 columns, without holes and none over another."""
        cells = [
            (x, y)
            for each in dashboard()["widgets"]
            for x in range(each["x"], each["x"] + each["width"])
            for y in range(each["y"], each["y"] + each["height"])
        ]

        height = 1 + max(y for _, y in cells)
        assert len(cells) == len(set(cells)) == 24 * height
        assert {x for x, _ in cells} == set(range(24))

    def test_curves_of_a_widget_have_names_of_their_own(self) -> None:
        """Two of one name could not be told apart."""
        for widget in widgets("metric"):
            curves = widget["properties"]["metrics"]
            labels = [
                each[-1].get("label", each[1])
                if isinstance(each[-1], dict)
                else each[1]
                for each in curves
            ]
            assert len(labels) == len(set(labels))


def widgets(kind: str) -> list[Json]:
    """Return the widgets of one kind."""
    return [each for each in dashboard()["widgets"] if each["type"] == kind]
