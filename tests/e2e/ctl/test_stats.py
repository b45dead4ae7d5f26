"""`ticketctl stats` on the deployed system."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from ticketctl.local.artifact import ROOT
from ticketctl.local.stack import LocalStack

pytestmark = pytest.mark.emulator

COMMAND = [sys.executable, "-m", "ticketctl", "stats"]
PATIENCE_SECONDS = 20


@contextmanager
def dead_letter(stack: LocalStack) -> Iterator[None]:
    """Let a message lie in the dead-letter queue for a while."""
    sqs, url = stack.client("sqs"), stack.outputs["DeadLetterQueueUrl"]
    sent = sqs.send_message(QueueUrl=url, MessageBody="not for a worker")
    try:
        yield
    finally:
        handle = None
        while handle is None:
            answer = sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0
            )
            handle = next(
                each["ReceiptHandle"]
                for each in answer["Messages"]
                if each["MessageId"] == sent["MessageId"]
            )
        sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)


@contextmanager
def alarm(stack: LocalStack, logical_id: str) -> Iterator[None]:
    """Let an alarm be on for a while."""
    resource = stack.client("cloudformation").describe_stack_resource(
        StackName=stack.name, LogicalResourceId=logical_id
    )
    name = resource["StackResourceDetail"]["PhysicalResourceId"]
    cloudwatch = stack.client("cloudwatch")

    def set_to(state: str, reason: str) -> None:
        cloudwatch.set_alarm_state(AlarmName=name, StateValue=state, StateReason=reason)

    set_to("ALARM", "a \x1b[2Jtest")
    try:
        yield
    finally:
        set_to("OK", "the test is over")


def environment(ctl: Ctl) -> dict[str, str]:
    """Return the variables of a process of its own."""
    variables: dict[str, str | None] = {**os.environ, **ctl.environment}
    return {name: value for name, value in variables.items() if value is not None}


class TestOneLook:
    """One call shows how the system is doing."""

    def test_message_is_counted_while_it_is_delayed_and_not_afterwards(
        self, system: System, project: str, ctl: Ctl
    ) -> None:
        """The queue's length is SQS's own, of this moment."""
        system.stack.client("sqs").send_message(
            QueueUrl=system.stack.outputs["CreateTicketQueueUrl"],
            MessageBody=json.dumps(ticket_fields(project)),
            DelaySeconds=2,
        )

        before = ctl("stats", "--json").json
        system.wait_for(lambda: system.events(project))
        system.settle()
        after = ctl("stats", "--json").json

        assert before["stack"] == after["stack"] == system.stack.name
        assert before["queue"]["delayed"] == 1
        assert after["queue"] == {
            "waiting": 0,
            "delayed": 0,
            "in_flight": 0,
            "oldest_seconds": None,
        }
        assert before["unknown"] == after["unknown"] == []

    def test_numbers_are_shown_when_cloudwatch_has_them(
        self, system: System, ctl: Ctl
    ) -> None:
        """Under the name, the dimension and the minute that the worker reports."""
        now = datetime.now(UTC)
        system.stack.client("cloudwatch").put_metric_data(
            Namespace="TicketNumbering",
            MetricData=[
                {
                    "MetricName": "TicketNumbersAssigned",
                    "Dimensions": [{"Name": "service", "Value": service}],
                    "Timestamp": now - timedelta(minutes=minutes),
                    "Value": value,
                }
                for service, minutes, value in (
                    (system.stack.name, 2, 1200),
                    (system.stack.name, 30, 34),
                    ("another-stack", 2, 999),
                )
            ],
        )

        answer, shown = ctl("stats", "--json"), ctl("stats")

        assert answer.json["last_hour"]["assigned"] == 1234
        assert max(filter(None, answer.json["last_hour"]["assigned_per_minute"])) == (
            1200
        )
        assert "1,234" in shown.out
        assert shown.status == answer.status == 0

    def test_unknown_is_a_dash_when_cloudwatch_has_nothing(self, ctl: Ctl) -> None:
        """The emulator never throttles, so nobody knows of any."""
        assert ctl("stats", "--json").json["throttled"]["writes_keys"] is None
        assert re.search(r"throttled writes +-", ctl("stats").out)

    def test_every_alarm_of_the_template_is_shown(
        self, system: System, ctl: Ctl
    ) -> None:
        """By the name that docs/operations.md has it under."""
        resources = system.stack.client("cloudformation").describe_stack_resources(
            StackName=system.stack.name
        )["StackResources"]
        names = {
            each["LogicalResourceId"]
            for each in resources
            if each["ResourceType"] == "AWS::CloudWatch::Alarm"
        }

        found = ctl("stats", "--json").json

        assert {each["name"] for each in found["alarms"]} == names
        assert len(names) >= 6


class TestCheck:
    """A script learns by the status whether somebody should look."""

    def test_check_ends_with_1_when_there_are_dead_letters(
        self, system: System, ctl: Ctl
    ) -> None:
        """And says so in both forms."""
        with dead_letter(system.stack):
            shown, answer = ctl("stats", "--check"), ctl("stats", "--check", "--json")

        assert shown.status == answer.status == 1
        assert "see `ticketctl dead-letters list`" in shown.out
        assert answer.json["dead_letters"]["count"] >= 1

    def test_check_ends_with_1_when_an_alarm_is_on(
        self, system: System, ctl: Ctl
    ) -> None:
        """The reason is shown so that it cannot spoil the screen."""
        with alarm(system.stack, "WorkerThrottlesAlarm"):
            shown, unasked = ctl("stats", "--check"), ctl("stats")

        assert shown.status == 1
        assert "WorkerThrottlesAlarm is on" in shown.out
        assert "a \ufffd[2Jtest" in shown.out
        assert unasked.status == 0

    def test_check_is_refused_when_watching(self, ctl: Ctl) -> None:
        """A check looks once."""
        ended = ctl("stats", "--check", "--watch")

        assert ended.status == 2
        assert ended.err == "error: --check looks once: leave out --watch\n"

    @pytest.mark.parametrize("seconds", ["0", "-1", "soon"])
    def test_interval_is_refused_when_it_is_none(self, ctl: Ctl, seconds: str) -> None:
        """Looking without a pause would cost and be throttled."""
        assert ctl("stats", "--watch", "--every", seconds).status == 2

    def test_stack_is_refused_when_there_is_none_of_the_name(self, ctl: Ctl) -> None:
        """In one line."""
        ended = ctl("--stack", "nowhere", "stats")

        assert ended.status == 3
        assert "no stack nowhere" in ended.err
        assert len(ended.err.splitlines()) == 1


class TestWatch:
    """Ctrl-C is how one ends a watch: it is no failure."""

    def test_watch_prints_a_document_a_line_until_interrupted(self, ctl: Ctl) -> None:
        """Each is complete as soon as it is printed."""
        with subprocess.Popen(  # noqa: S603 - no shell, and no argument from outside.
            [*COMMAND, "--watch", "--every", "1", "--json"],
            cwd=ROOT,
            env=environment(ctl),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            documents: list[Any] = [json.loads(next(process.stdout)) for _ in range(2)]
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE_SECONDS)

        assert [each["queue"]["delayed"] for each in documents] == [0, 0]
        assert (process.returncode, err) == (0, "")

    def test_watch_leaves_the_terminal_as_it_was_when_interrupted(
        self, ctl: Ctl
    ) -> None:
        """The screen is an alternate one, and is given back."""
        ours, theirs = pty.openpty()
        with subprocess.Popen(  # noqa: S603 - no shell, and no argument from outside.
            [*COMMAND, "--watch"],
            cwd=ROOT,
            env=environment(ctl) | {"TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        ) as process:
            os.close(theirs)
            shown = b""
            while b"Ctrl-C ends it" not in shown:
                shown += os.read(ours, 65_536)
            process.send_signal(signal.SIGINT)
            shown += _rest(ours)
            status = process.wait(PATIENCE_SECONDS)
        os.close(ours)

        assert status == 0
        assert shown.index(b"\x1b[?1049h") < shown.index(b"in flight")
        assert shown.index(b"in flight") < shown.index(b"\x1b[?1049l")
        assert b"Traceback" not in shown


def _rest(terminal: int) -> bytes:
    """Read what a process writes until it ends."""
    shown = b""
    try:
        while some := os.read(terminal, 65_536):
            shown += some
    except OSError:  # Linux says so where others say that it is the end.
        pass
    return shown
