"""`ticketctl status` on the deployed system."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from tests.support.template_loader import ids_of

pytestmark = pytest.mark.emulator


@pytest.fixture
def alarm_on(system: System) -> Iterator[str]:
    """Let an alarm be on, and return its name in the template."""
    logical_id = "WorkerThrottlesAlarm"
    resource = system.stack.client("cloudformation").describe_stack_resource(
        StackName=system.stack.name, LogicalResourceId=logical_id
    )
    name = resource["StackResourceDetail"]["PhysicalResourceId"]
    cloudwatch = system.stack.client("cloudwatch")
    cloudwatch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="a test")
    yield logical_id
    cloudwatch.set_alarm_state(AlarmName=name, StateValue="OK", StateReason="over")


def test_status_counts_a_message_when_it_waits(
    system: System, project: str, ctl: Ctl
) -> None:
    system.stack.client("sqs").send_message(
        QueueUrl=system.stack.outputs["CreateTicketQueueUrl"],
        MessageBody=json.dumps(ticket_fields(project)),
        DelaySeconds=2,
    )

    before = ctl("status", "--json").json
    system.wait_for(lambda: system.events(project))
    system.settle()
    after = ctl("status", "--json").json

    assert before["stack"] == system.stack.name
    assert before["queue"]["delayed"] == 1
    assert after["queue"] == {"waiting": 0, "delayed": 0, "in_flight": 0}
    names = {alarm["name"] for alarm in after["alarms"]}
    assert names == set(ids_of("AWS::CloudWatch::Alarm"))


def test_check_ends_with_1_when_an_alarm_is_on(alarm_on: str, ctl: Ctl) -> None:
    checked, shown = ctl("status", "--check"), ctl("status")

    assert (checked.status, shown.status) == (1, 0)
    assert f"{alarm_on} since " in shown.out
