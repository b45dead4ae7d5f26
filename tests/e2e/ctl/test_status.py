"""`ticketctl status` on the deployed system."""

import json
import re

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl

pytestmark = pytest.mark.emulator


def test_status_counts_messages_and_leaves_out_what_an_emulator_lacks(
    system: System, project: str, ctl: Ctl
) -> None:
    """It evaluates no alarm, and protects neither tables nor the stack."""
    queue_url = system.stack.outputs["CreateTicketQueueUrl"]
    system.stack.client("sqs").send_message(
        QueueUrl=queue_url,
        MessageBody=json.dumps(ticket_fields(project)),
        DelaySeconds=900,
    )

    status = ctl("status", "--json").json
    text = ctl("status", "--check")
    system.stack.client("sqs").purge_queue(QueueUrl=queue_url)

    assert status["queue"] == {"waiting": 0, "delayed": 1, "in_flight": 0}
    assert status["alarms"] == []
    [mapping], [alias] = status["mappings"], status["aliases"]
    assert mapping == {
        "state": "Enabled",
        "function_arn": alias["arn"],
        "queue_arn": system.stack.outputs["CreateTicketQueueArn"],
    }
    # Other tests change the function's code.
    assert alias["name"] == "live"
    assert int(alias["version"]) > 0
    assert not re.search("protection|recovery|expires|policy", text.out)


def test_shell_finds_the_stack_by_its_variables(system: System, ctl: Ctl) -> None:
    ended = ctl("env")

    lines = ended.out.splitlines()
    assert ended.status == 0
    assert f"export TICKETCTL_STACK={system.stack.name}" in lines
    assert (
        f"export TICKETS_TABLE_NAME={system.stack.outputs['TicketsTableName']}" in lines
    )
