"""Stacks whose services answer what a test prepared; nothing opens a connection."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
from botocore.stub import Stubber
from rich.console import Console

from tests.support.canned_aws import aws_client
from ticketctl.status.screen import screen
from ticketctl.status.stack_metrics import metrics_of
from ticketctl.status.statistics import Statistics, statistics
from ticketctl.system.stack import Stack

NOW = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)

OUTPUTS = {
    "CreateTicketQueueUrl": "https://sqs.eu-west-1.amazonaws.com/1234/create",
    "DeadLetterQueueUrl": "https://sqs.eu-west-1.amazonaws.com/1234/dead",
    "WorkerFunctionName": "worker",
    "TicketsTableName": "tickets",
    "IdempotencyKeysTableName": "keys",
}


def a_stack(**clients: Any) -> Stack:
    """Return a stack whose clients answer what a test prepared."""
    session = boto3.Session(region_name="eu-west-1")
    return Stack("numbers", "eu-west-1", OUTPUTS, {}, session, clients)


def result(name: str, values: Mapping[int, float], **members: Any) -> dict[str, Any]:
    """Return CloudWatch's answer to one query, by minutes before now."""
    place = list(metrics_of(a_stack())).index(name)
    minutes = sorted(values, reverse=True)
    return {
        "Id": f"m{place}",
        "Timestamps": [NOW - timedelta(minutes=each) for each in minutes],
        "Values": [values[each] for each in minutes],
    } | members


def metric_alarm(name: str, state: str = "OK", reason: str = "") -> dict[str, Any]:
    """Return an alarm as CloudWatch describes it."""
    return {
        "AlarmName": name,
        "StateValue": state,
        "StateReason": reason,
        "StateUpdatedTimestamp": NOW,
    }


@dataclass
class World:
    """What the services will answer."""

    hour: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    alarms: list[dict[str, Any]] = field(default_factory=list)
    queue: tuple[int, int, int] = (0, 0, 0)
    dead_letters: tuple[int, int, int] = (0, 0, 0)
    refused: str = ""
    """An operation that is refused."""

    def look(self) -> Statistics:
        """Look once."""
        return self.look_with(self.clients())

    @staticmethod
    def look_with(clients: Mapping[str, Any]) -> Statistics:
        """Look once, with clients that were made before."""
        return statistics(a_stack(**clients), NOW)

    def clients(self) -> dict[str, Any]:
        """Return clients that answer once."""
        return {
            "sqs": self._sqs(),
            "cloudwatch": self._cloudwatch(),
            "cloudformation": self._cloudformation(),
        }

    def shown(self, width: int = 80) -> str:
        """Return the screen as text."""
        out = io.StringIO()
        Console(file=out, width=width, highlight=False, soft_wrap=True).print(
            screen(self.look())
        )
        return out.getvalue()

    def _sqs(self) -> Any:
        client = aws_client("sqs")
        stubber = Stubber(client)
        for visible, delayed, in_flight in (self.queue, self.dead_letters):
            attributes = {
                "ApproximateNumberOfMessages": str(visible),
                "ApproximateNumberOfMessagesDelayed": str(delayed),
                "ApproximateNumberOfMessagesNotVisible": str(in_flight),
            }
            stubber.add_response("get_queue_attributes", {"Attributes": attributes})
        stubber.activate()
        return client

    def _cloudwatch(self) -> Any:
        client = aws_client("cloudwatch")
        stubber = Stubber(client)
        self._answer(
            stubber,
            "get_metric_data",
            {"MetricDataResults": [result(*each) for each in self.hour.items()]},
        )
        if self.alarms:
            self._answer(stubber, "describe_alarms", {"MetricAlarms": self.alarms})
        stubber.activate()
        return client

    def _cloudformation(self) -> Any:
        client = aws_client("cloudformation")
        stubber = Stubber(client)
        kinds = {"AWS::SQS::Queue": "Queue", "AWS::CloudWatch::Alarm": ""}
        summaries = [
            {
                "LogicalResourceId": kinds[kind] or f"{each['AlarmName']}Alarm",
                "PhysicalResourceId": each["AlarmName"],
                "ResourceType": kind,
                "LastUpdatedTimestamp": NOW,
                "ResourceStatus": "CREATE_COMPLETE",
            }
            for kind in kinds
            for each in self.alarms
        ]
        self._answer(
            stubber, "list_stack_resources", {"StackResourceSummaries": summaries}
        )
        stubber.activate()
        return client

    def _answer(self, stubber: Stubber, operation: str, answer: dict[str, Any]) -> None:
        if operation == self.refused:
            stubber.add_client_error(operation, "AccessDenied", "not for you", 403)
        else:
            stubber.add_response(operation, answer)
