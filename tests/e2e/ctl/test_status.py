"""`ticketctl status` on the deployed system."""

import json

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from tests.support.template_loader import ids_of

pytestmark = pytest.mark.emulator


def test_status_counts_messages_and_names_the_alarm_that_is_on(
    system: System, project: str, ctl: Ctl
) -> None:
    resource = system.stack.client("cloudformation").describe_stack_resource(
        StackName=system.stack.name, LogicalResourceId="WorkerThrottlesAlarm"
    )
    system.stack.client("cloudwatch").set_alarm_state(
        AlarmName=resource["StackResourceDetail"]["PhysicalResourceId"],
        StateValue="ALARM",
        StateReason="a test",
    )
    queue_url = system.stack.outputs["CreateTicketQueueUrl"]
    system.stack.client("sqs").send_message(
        QueueUrl=queue_url,
        MessageBody=json.dumps(ticket_fields(project)),
        DelaySeconds=900,
    )

    found = ctl("status", "--json").json
    text = ctl("status", "--check")
    system.stack.client("sqs").purge_queue(QueueUrl=queue_url)

    assert found["queue"] == {"waiting": 0, "delayed": 1, "in_flight": 0}
    names = {alarm["name"] for alarm in found["alarms"]}
    assert names == set(ids_of("AWS::CloudWatch::Alarm"))
    [mapping], [alias] = found["mappings"], found["aliases"]
    assert mapping == {
        "state": "Enabled",
        "function_arn": alias["arn"],
        "queue_arn": system.stack.outputs["CreateTicketQueueArn"],
    }
    # Other tests change the function's code.
    assert alias["name"] == "live"
    assert int(alias["version"]) > 0
    assert text.status == 1
    assert "WorkerThrottlesAlarm since " in text.out


def test_shell_finds_the_stack_by_its_variables(system: System, ctl: Ctl) -> None:
    ended = ctl("env")

    lines = ended.out.splitlines()
    assert ended.status == 0
    assert f"export TICKETCTL_STACK={system.stack.name}" in lines
    assert (
        f"export TICKETS_TABLE_NAME={system.stack.outputs['TicketsTableName']}" in lines
    )
