"""What `ticketctl stats` makes of what SQS, CloudWatch and CloudFormation say."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.stub import ANY, Stubber
from rich.console import Console

from tests.support.aws_metrics import AWS_METRICS
from tests.support.canned_aws import aws_client
from tests.support.stats_builders import NOW, World, a_stack, metric_alarm, result
from ticket_numbering.observability import Metric as WorkerMetric
from ticketctl.status.alarm_states import alarm_states
from ticketctl.status.document import stats_json
from ticketctl.status.metric_series import MINUTES, Series, last_hour
from ticketctl.status.screen import sparkline
from ticketctl.status.stack_metrics import OLDEST, OLDEST_DEAD_LETTER, OWN, metrics_of
from ticketctl.status.statistics import Statistics, statistics
from ticketctl.status.watch import looks, watch_screen


class TestUnknownIsNotZero:
    """What CloudWatch does not know looks different from what did not happen."""

    def test_everything_is_null_when_cloudwatch_has_nothing(self) -> None:
        """A new stack, or the local system."""
        found = stats_json(World().look())

        assert set(found["worker"].values()) == {None}
        assert set(found["throttled"].values()) == {None}
        assert {found["last_hour"][each] for each in OWN} == {None}
        assert found["last_hour"]["assigned_per_minute"] == [None] * MINUTES
        assert found["queue"]["oldest_seconds"] is None

    def test_zero_is_zero_when_the_worker_said_so(self) -> None:
        """The worker reports its zeros."""
        found = World({"poison": {3: 0.0}}).look()

        assert stats_json(found)["last_hour"]["poison"] == 0

    def test_screen_shows_a_dash_where_nothing_is_known(self) -> None:
        """Not a zero, and the screen says what the dash means."""
        shown = World({"poison": {3: 0.0}}).shown()

        assert re.search(r"invocations +-\s", shown)
        assert re.search(r"poison +0\s", shown)
        assert "-: CloudWatch has nothing (yet)" in shown

    def test_age_is_unknown_when_the_last_report_is_old(self) -> None:
        """SQS stops to report on a queue that nobody uses."""
        assert World({OLDEST: {20: 5000.0}}).look().oldest_seconds is None
        assert World({OLDEST: {4: 50.0, 3: 40.0}}).look().oldest_seconds == 40


class TestLastHour:
    """Values stand in the minute that they are of."""

    def test_value_stands_in_its_minute(self) -> None:
        """The present minute is the last of sixty."""
        series = World({"assigned": {0: 3.0, 2: 1.0, 59: 7.0}}).look().series

        assert series["assigned"].values[-1] == 3
        assert series["assigned"].values[-3] == 1
        assert series["assigned"].values[0] == 7
        assert series["assigned"].total == 11
        assert series["assigned"].highest == 7

    def test_value_is_left_out_when_it_is_of_another_hour(self) -> None:
        """Whatever CloudWatch answers, sixty minutes stay sixty."""
        assert (
            World({"assigned": {60: 9.0, -1: 9.0}}).look().series["assigned"].known
            == []
        )

    def test_all_metrics_are_asked_for_in_one_call(self) -> None:
        """Each call costs, and the parts would be of different moments."""
        client = aws_client("cloudwatch")
        metrics = metrics_of(a_stack())
        with Stubber(client) as stubber:
            stubber.add_response(
                "get_metric_data",
                {"MetricDataResults": []},
                {
                    "MetricDataQueries": ANY,
                    "StartTime": datetime(2026, 11, 21, 11, 1, tzinfo=UTC),
                    "EndTime": datetime(2026, 11, 21, 12, 1, tzinfo=UTC),
                    "ScanBy": "TimestampAscending",
                },
            )

            assert last_hour(client, metrics, NOW).series.keys() == metrics.keys()

    def test_pages_are_put_together_when_the_answer_is_cut_short(self) -> None:
        """CloudWatch may answer in parts."""
        client = aws_client("cloudwatch")
        pages: list[dict[str, Any]] = [
            {"MetricDataResults": [result("poison", {9: 1.0})], "NextToken": "on"},
            {"MetricDataResults": [result("poison", {8: 2.0})]},
        ]
        with Stubber(client) as stubber:
            for page in pages:
                stubber.add_response("get_metric_data", page)

            series = last_hour(client, metrics_of(a_stack()), NOW).series

        assert series["poison"].total == 3

    def test_failure_of_one_metric_is_told(self) -> None:
        """A 200 can hold what CloudWatch could not answer."""
        client = aws_client("cloudwatch")
        bad = result("poison", {}, StatusCode="InternalError")
        page = {
            "MetricDataResults": [bad],
            "Messages": [{"Code": "Odd", "Value": "so\x1b[2Jso"}],
        }
        with Stubber(client) as stubber:
            stubber.add_response("get_metric_data", page)

            remarks = last_hour(client, metrics_of(a_stack()), NOW).remarks

        assert remarks == ["Odd: so\ufffd[2Jso", "PoisonMessages: InternalError"]


class TestMetricsExist:
    """A name that nobody reports would look like a quiet system."""

    def test_own_metrics_are_those_of_the_worker(self) -> None:
        """All but the attempts, which are no count of an hour."""
        assert set(OWN.values()) | {WorkerMetric.ATTEMPTS} == set(WorkerMetric)

    def test_own_metrics_are_asked_for_under_the_stacks_name(self) -> None:
        """As the template names the service."""
        found = metrics_of(a_stack())

        assert {
            (found[each].namespace, found[each].dimension, found[each].value)
            for each in OWN
        } == {("TicketNumbering", "service", "numbers")}

    def test_metrics_of_aws_are_described_by_aws(self) -> None:
        """Name, dimension and statistic."""
        for name, metric in metrics_of(a_stack()).items():
            if name not in OWN:
                described = AWS_METRICS[metric.namespace, metric.name]
                assert metric.dimension in described.dimensions
                assert metric.statistic in described.statistics

    def test_ages_are_those_of_the_two_queues(self) -> None:
        """CloudWatch knows queues by name."""
        found = metrics_of(a_stack())

        assert found[OLDEST].value == "create"
        assert found[OLDEST_DEAD_LETTER].value == "dead"


class TestNeedsAPerson:
    """What `--check` wakes somebody for."""

    def test_nobody_is_needed_when_all_is_well(self) -> None:
        """Messages that wait are normal, and so are alarms that are off."""
        world = World(
            {OLDEST: {1: 900.0}, OLDEST_DEAD_LETTER: {1: 9000.0}},
            [metric_alarm("DeadLetters"), metric_alarm("New", "INSUFFICIENT_DATA")],
            queue=(5, 1, 2),
        )

        assert world.look().needs_a_person == []
        assert "all is well" in world.shown()

    @pytest.mark.parametrize("dead_letters", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
    def test_somebody_is_needed_when_there_are_dead_letters(
        self, dead_letters: tuple[int, int, int]
    ) -> None:
        """Also while somebody else looks at them."""
        [reason] = World(dead_letters=dead_letters).look().needs_a_person

        assert reason == "dead letters: 1; see `ticketctl dead-letters list`"

    def test_somebody_is_needed_when_an_alarm_is_on(self) -> None:
        """Whatever it watches."""
        world = World(alarms=[metric_alarm("Errors", "ALARM", "3 were too many")])

        assert world.look().needs_a_person[0].startswith("ErrorsAlarm is on")
        assert "3 were too many" in world.shown()

    def test_every_reason_is_told_when_there_are_several(self) -> None:
        """One must not hide another."""
        alarms = [metric_alarm("A", "ALARM"), metric_alarm("B", "ALARM")]
        world = World({OLDEST: {1: 1e6}}, alarms, dead_letters=(1, 0, 0))

        assert len(world.look().needs_a_person) == 4

    def test_somebody_is_needed_when_a_message_waits_too_long(self) -> None:
        """Longer than fifteen minutes, as the alarm has it."""
        [reason] = World({OLDEST: {1: 961.0}}).look().needs_a_person

        assert reason == "the oldest message waits for 16 minutes"


class TestRefusal:
    """Who may see a part sees that part, and is told what is missing."""

    @pytest.mark.parametrize(
        "operation", ["get_metric_data", "describe_alarms", "list_stack_resources"]
    )
    def test_rest_is_shown_when_an_operation_is_refused(self, operation: str) -> None:
        """The queues are there, and a line says what is not."""
        world = World(
            alarms=[metric_alarm("Errors", "ALARM")], queue=(7, 0, 0), refused=operation
        )

        found = world.look()

        assert found.queue.waiting == 7
        assert "you may not " in found.unknown[0]
        assert "not for you" in world.shown()
        assert "all is well" not in world.shown()

    def test_command_fails_when_sqs_refuses(self) -> None:
        """Without the queues there is nothing to show."""
        client = aws_client("sqs")
        others = World().clients()
        with Stubber(client) as stubber:
            stubber.add_client_error("get_queue_attributes", "AccessDenied")
            stack = a_stack(**others | {"sqs": client})

            with pytest.raises(ClientError):
                statistics(stack, NOW)


class TestAlarms:
    """The stack's alarms and no others."""

    def test_alarms_that_are_on_come_first(self) -> None:
        """By the names of the template."""
        states = [metric_alarm("A"), metric_alarm("C", "ALARM"), metric_alarm("B")]

        found = World(alarms=states).look().alarms

        assert [each.name for each in found] == ["CAlarm", "AAlarm", "BAlarm"]

    def test_alarms_are_asked_for_in_parts_when_there_are_many(self) -> None:
        """CloudWatch takes a hundred names at a time."""
        client = aws_client("cloudwatch")
        names = {f"a{each}": "x" for each in range(101)}
        with Stubber(client) as stubber:
            for some in (list(names)[:100], list(names)[100:]):
                answer = {"MetricAlarms": [metric_alarm(each) for each in some]}
                expected = {"AlarmNames": some, "MaxRecords": 100}
                stubber.add_response("describe_alarms", answer, expected)

            assert len(alarm_states(client, names)) == 101


class TestScreen:
    """One screen, for people, that nobody else's text can spoil."""

    def test_escape_sequences_are_made_visible(self) -> None:
        """What CloudWatch repeats may come from anywhere."""
        reason = "\x1b[2J[bold]gone[/bold]"

        shown = World(alarms=[metric_alarm("E", "ALARM", reason)]).shown()

        assert "\x1b[2J" not in shown
        assert "\ufffd[2J[bold]gone[/bold]" in shown

    def test_sparkline_has_a_bar_for_each_minute(self) -> None:
        """The busiest is the tallest; a minute without data is a dot."""
        values = [None, 0.0, 50.0, 100.0]

        assert sparkline(Series(values)) == "·▁▅█"

    def test_sparkline_of_nothing_is_dots(self) -> None:
        """There is no busiest minute to measure by."""
        assert sparkline(Series([None, None])) == "··"
        assert sparkline(Series([0.0])) == "▁"

    @pytest.mark.parametrize(
        ("seconds", "age"),
        [
            (0.0, "0 s"),
            (59.0, "59 s"),
            (61.0, "1 min 1 s"),
            (7200.0, "2 h"),
            (93_784.0, "1 d 2 h"),
        ],
    )
    def test_age_is_readable(self, seconds: float, age: str) -> None:
        """The two largest units are enough."""
        assert f"{age} " in World({OLDEST: {1: seconds}}).shown()

    def test_screen_fits_a_terminal(self) -> None:
        """24 lines are what a small window has."""
        alarms = [metric_alarm(f"Some{each}Failures") for each in range(7)]

        shown = World({"assigned": {1: 5e6}}, alarms).shown()

        assert len(shown.splitlines()) <= 24
        assert max(map(len, shown.splitlines())) <= 80


@dataclass
class Script:
    """Looks as they are told, and is interrupted at the end."""

    steps: Iterator[Statistics | Exception]

    def __call__(self) -> Statistics:
        """Look once."""
        step = next(self.steps, None)
        if isinstance(step, Exception):
            raise step
        if step is None:
            raise KeyboardInterrupt
        return step


class TestWatch:
    """A screen that is watched outlasts a lost connection."""

    def test_watch_goes_on_when_a_later_look_fails(self) -> None:
        """The next look may succeed."""
        lost = EndpointConnectionError(endpoint_url="https://example")
        look = Script(iter([World().look(), lost, World(queue=(4, 0, 0)).look()]))
        failures: list[str] = []
        seen: list[int] = []

        with pytest.raises(KeyboardInterrupt):
            seen.extend(each.queue.waiting for each in looks(look, 0, failures.append))

        assert len(failures) == 1
        assert "check the Region" in failures[0]

    def test_watch_ends_when_the_first_look_fails(self) -> None:
        """Wrong credentials do not become right by waiting."""
        lost = EndpointConnectionError(endpoint_url="https://example")

        with pytest.raises(EndpointConnectionError):
            next(looks(Script(iter([lost, World().look()])), 0, print))

    @pytest.mark.parametrize("terminal", [True, False])
    def test_watch_shows_the_last_figures_when_a_look_fails(
        self, *, terminal: bool
    ) -> None:
        """In a terminal beside the news of the failure."""
        lost = EndpointConnectionError(endpoint_url="https://example")
        look = Script(iter([World(queue=(1234, 0, 0)).look(), lost]))
        out = io.StringIO()
        console = Console(file=out, width=100, height=40, force_terminal=terminal)

        with pytest.raises(KeyboardInterrupt):
            watch_screen(look, 0, console)

        assert out.getvalue().count("1,234") == (2 if terminal else 1)
        assert "check the Region" in out.getvalue()
        assert ("\x1b[?1049h" in out.getvalue()) is terminal
