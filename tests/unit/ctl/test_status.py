"""What `ticketctl status` makes of what SQS and CloudWatch say."""

import io
import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
import typer
from botocore.stub import Stubber
from rich.console import Console

from tests.support.canned_aws import aws_client
from ticketctl.commands.status import status
from ticketctl.status.status import Status, print_status, status_of
from ticketctl.system.stack import Stack

NOW = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)


def alarm(name: str, state: str = "OK", reason: str = "") -> dict[str, Any]:
    """Return an alarm as CloudWatch describes it."""
    return {
        "AlarmName": name,
        "StateValue": state,
        "StateReason": reason,
        "StateUpdatedTimestamp": NOW,
    }


def a_stack(*pages: list[dict[str, Any]], dead: int = 0) -> Stack:
    """Return the stack `numbers`, whose services answer once."""
    sqs, cloudwatch = aws_client("sqs"), aws_client("cloudwatch")
    stubs = Stubber(sqs), Stubber(cloudwatch)
    for counts in ((3, 2, 1), (dead, 0, 0)):
        names = ("", "Delayed", "NotVisible")
        attributes = {
            f"ApproximateNumberOfMessages{name}": str(n)
            for name, n in zip(names, counts, strict=True)
        }
        stubs[0].add_response("get_queue_attributes", {"Attributes": attributes})
    for place, page in enumerate(pages):
        more = {"NextToken": "on"} if place + 1 < len(pages) else {}
        stubs[1].add_response("describe_alarms", {"MetricAlarms": page, **more})
    for stub in stubs:
        stub.activate()
    outputs = {"CreateTicketQueueUrl": "create", "DeadLetterQueueUrl": "dead"}
    clients = {"sqs": sqs, "cloudwatch": cloudwatch}
    session = boto3.Session(region_name="eu-west-1")
    return Stack("numbers", "eu-west-1", outputs, {}, session, clients)


def shown(found: Status) -> str:
    """Return what a person sees."""
    console = Console(file=io.StringIO(), width=80, soft_wrap=True)
    print_status(console, found)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


class TestCounts:
    """The queues' lengths are SQS's own."""

    def test_messages_are_counted_by_what_they_wait_for(self) -> None:
        found = status_of(a_stack([], dead=5))

        assert found.queue == {"waiting": 3, "delayed": 2, "in_flight": 1}
        assert found.dead_letters == 5


class TestAlarms:
    """Every alarm of the stack is looked at, and no other."""

    def test_alarms_are_the_stacks_when_another_stack_begins_with_its_name(
        self,
    ) -> None:
        alarms = [
            alarm("numbers-A-1X"),
            alarm("numbers-dev-B-1X"),
            alarm("numbers-mine"),
        ]

        found = status_of(a_stack(alarms))

        assert [alarm.name for alarm in found.alarms] == ["A"]

    def test_alarms_are_all_there_when_the_answer_has_pages(self) -> None:
        found = status_of(a_stack([alarm("numbers-A-1X")], [alarm("numbers-B-1X")]))

        assert [alarm.name for alarm in found.alarms] == ["A", "B"]

    def test_reason_is_shown_when_an_alarm_is_on(self) -> None:
        alarms = [alarm("numbers-A-1X"), alarm("numbers-B-1X", "ALARM", "a \x1b[2Jb")]

        out = shown(status_of(a_stack(alarms)))

        assert "1 of 2 are on" in out
        assert "B since 2026-11-21T12:00:30+00:00: a \ufffd[2Jb" in out


class TestCheck:
    """A script learns by the status whether somebody should look."""

    @pytest.mark.parametrize(
        ("stack", "ends_with"),
        [
            (a_stack([alarm("numbers-A-1X", "INSUFFICIENT_DATA")]), None),
            (a_stack([alarm("numbers-A-1X", "ALARM")]), 1),
            (a_stack([], dead=1), 1),
        ],
        ids=["well", "alarm", "dead letter"],
    )
    def test_check_ends_with_1_when_a_person_should_look(
        self,
        capsys: pytest.CaptureFixture[str],
        stack: Stack,
        ends_with: int | None,
    ) -> None:
        context: Any = SimpleNamespace(obj=lambda: stack)
        code = None

        try:
            status(context, check=True, as_json=True)
        except typer.Exit as ended:
            code = ended.exit_code

        assert code == ends_with
        answer = json.loads(capsys.readouterr().out)
        assert answer["needs_a_person"] == bool(ends_with)
