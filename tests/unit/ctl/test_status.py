"""`ticketctl status` summarizes SQS and CloudWatch."""

import json
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
import typer
from botocore.stub import Stubber

from tests.support.canned_aws import aws_client
from tests.support.ctl_process import command_context
from ticketctl.aws.stack import Stack
from ticketctl.commands.status import status
from ticketctl.status.status import lines_of, status_of

NOW = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)


def alarm(name: str, state: str = "OK", reason: str = "") -> dict[str, Any]:
    return {
        "AlarmName": name,
        "StateValue": state,
        "StateReason": reason,
        "StateUpdatedTimestamp": NOW,
    }


def a_stack(*pages: list[dict[str, Any]], dead: int = 0) -> Stack:
    """Return the stack `numbers`, whose services answer once."""
    sqs, cloudwatch = Stubber(aws_client("sqs")), Stubber(aws_client("cloudwatch"))
    urls = {"CreateTicketQueueUrl": "create", "DeadLetterQueueUrl": "dead"}
    for url, counts in (("dead", (dead, 0, dead)), ("create", (3, 2, 1))):
        names = ("", "Delayed", "NotVisible")
        attributes = {
            f"ApproximateNumberOfMessages{name}": str(n)
            for name, n in zip(names, counts, strict=True)
        }
        expected = {"QueueUrl": url, "AttributeNames": [*attributes]}
        sqs.add_response("get_queue_attributes", {"Attributes": attributes}, expected)
    for place, page in enumerate(pages, 1):
        more = {"NextToken": "on"} if place < len(pages) else {}
        cloudwatch.add_response("describe_alarms", {"MetricAlarms": page, **more})
    sqs.activate()
    cloudwatch.activate()
    clients = {"sqs": sqs.client, "cloudwatch": cloudwatch.client}
    return Stack("numbers", "eu-west-1", urls, {}, boto3.Session(), clients)


def test_messages_are_counted_by_what_they_wait_for() -> None:
    found = status_of(a_stack([], dead=5))

    assert found["queue"] == {"waiting": 3, "delayed": 2, "in_flight": 1}
    assert found["dead_letters"] == 10


def test_alarms_are_the_stacks_on_all_pages_and_no_others() -> None:
    """Another stack's name may begin with this one's."""
    first = [alarm("numbers-A-1X"), alarm("numbers-dev-B-1X"), alarm("numbers-mine")]

    found = status_of(a_stack(first, [alarm("numbers-C-1X")]))

    assert [alarm["name"] for alarm in found["alarms"]] == ["A", "C"]


def test_reason_is_shown_when_an_alarm_is_on() -> None:
    alarms = [alarm("numbers-A-1X"), alarm("numbers-B-1X", "ALARM", "a \x1b[2Jb")]

    lines = [*lines_of(status_of(a_stack(alarms, dead=1)))]

    assert "alarms        1 of 2 are on" in lines
    assert "B since 2026-11-21T12:00:30+00:00: a \ufffd[2Jb" in lines
    assert "`ticketctl dead-letters list` says why" in lines


@pytest.mark.parametrize(
    ("stack", "ends_with"),
    [
        (a_stack([alarm("numbers-A-1X", "INSUFFICIENT_DATA")]), 0),
        (a_stack([alarm("numbers-A-1X", "ALARM")]), 1),
        (a_stack([], dead=1), 1),
    ],
    ids=["well", "alarm", "dead letter"],
)
def test_check_ends_with_1_when_a_person_should_look(
    capsys: pytest.CaptureFixture[str], stack: Stack, ends_with: int
) -> None:
    code = 0

    try:
        status(command_context(stack), check=True, as_json=True)
    except typer.Exit as ended:
        code = ended.exit_code

    assert code == ends_with
    answer = json.loads(capsys.readouterr().out)
    assert answer["needs_a_person"] == bool(ends_with)
