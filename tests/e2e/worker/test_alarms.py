"""What the deployed worker emits sets off the alarms of the template.

The emulator evaluates no alarm; `tests/support/alarms.py` does, as CloudWatch would.
"""

import json
from collections import Counter

import pytest

from tests.e2e.conftest import System
from tests.support.alarms import is_on, metrics_of
from tests.support.builders import ticket_fields
from tests.support.proxy import Action, sns_proxy
from tests.support.template_loader import STACK, ids_of, properties
from ticket_numbering.worker.observability import Metric

pytestmark = pytest.mark.emulator

DEAD_LETTERS = "${CreateTicketDeadLetterQueue.QueueName}"
Metrics = Counter[tuple[str, str, str]]
"""Values by namespace, name, and service or queue."""


def emitted(system: System, lines_before: int) -> Metrics:
    """Return the sums of what the worker's log has for CloudWatch since then."""
    sums: Metrics = Counter()
    for line in system.stack.function_logs()[lines_before:]:
        if '"_aws"' in line:
            values = json.loads(line[line.index("{") :])
            [group] = values["_aws"]["CloudWatchMetrics"]
            # The count of cold starts has the function as another dimension.
            for metric in (
                group["Metrics"] if group["Dimensions"] == [["service"]] else ()
            ):
                kind = group["Namespace"], metric["Name"], values["service"]
                sums[kind] += sum(values[metric["Name"]])
    return sums


def alarms_after(system: System, lines_before: int) -> set[str]:
    """Return the alarms that are on if all periods are like the time since then.

    AWS's own metrics are left out, but for dead letters: they stay where they arrived.
    """
    sums = emitted(system, lines_before)
    sums["AWS/SQS", "ApproximateNumberOfMessagesVisible", DEAD_LETTERS] += len(
        system.dead_letters
    )
    on = set()
    for name in ids_of("AWS::CloudWatch::Alarm"):
        alarm = properties(name)
        samples = {}
        for metric, _, _ in metrics_of(alarm):
            [dimension] = metric["Dimensions"]
            value = dimension["Value"]
            service = system.stack.name if value == STACK["AWS::StackName"] else value
            kind = metric["Namespace"], metric["MetricName"], service
            samples[metric["MetricName"]] = [sums[kind]] * alarm["EvaluationPeriods"]
        if is_on(alarm, samples):
            on.add(name)
    return on


@pytest.fixture
def before(system: System) -> int:
    """Return how many lines the log had before the test."""
    return len(system.stack.function_logs())


def wait_for_sum(system: System, before: int, metric: str, at_least: int) -> None:
    kind = "TicketNumbering", metric, system.stack.name
    system.wait_for(lambda: emitted(system, before)[kind] >= at_least)


def test_no_alarm_is_on_when_tickets_are_numbered_and_refused_at_a_cap(
    system: System, project: str, before: int
) -> None:
    system.send(*[ticket_fields(project, max_number=2) for _ in range(4)])

    wait_for_sum(system, before, Metric.REFUSED, 2)
    wait_for_sum(system, before, Metric.ASSIGNED, 2)

    assert alarms_after(system, before) == set()


def test_poison_sets_off_the_alarms_on_its_share_and_on_dead_letters(
    system: System, project: str, before: int
) -> None:
    system.send(ticket_fields(project), *["{nonsense"] * 6)

    wait_for_sum(system, before, Metric.POISON, 6)
    wait_for_sum(system, before, Metric.ASSIGNED, 1)
    system.wait_for(lambda: len(system.dead_letters) == 6)

    assert alarms_after(system, before) == {
        "PoisonShareAlarm",
        "DeadLettersAlarm",
        "OldDeadLettersAlarm",
    }


def test_topic_that_refuses_sets_off_the_alarms_on_failures(
    system: System, project: str, before: int
) -> None:
    with (
        sns_proxy(system.stack, Action.REFUSE) as sns,
        system.queue_attributes(VisibilityTimeout="2"),
        system.function_environment(AWS_ENDPOINT_URL_SNS=sns.url),
    ):
        system.send(ticket_fields(project))
        wait_for_sum(system, before, Metric.ANNOUNCEMENTS_FAILED, 2)
        assert alarms_after(system, before) == {
            "TransientFailuresAlarm",
            "AnnouncementsFailedAlarm",
        }
    system.wait_for(lambda: system.events(project))
