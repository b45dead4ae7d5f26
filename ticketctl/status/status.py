"""The state of a system, as SQS and the alarms have it.

CloudWatch's time series are for the dashboard: asking for them costs money each time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from ticketctl.cli.output import visible
from ticketctl.system.stack import Stack

_REASON_WIDTH: Final = 200

_COUNTS: Final = {
    "waiting": "ApproximateNumberOfMessages",
    "delayed": "ApproximateNumberOfMessagesDelayed",
    "in_flight": "ApproximateNumberOfMessagesNotVisible",
}


@dataclass(frozen=True)
class Alarm:
    """An alarm of the stack."""

    name: str
    """Its name in the template."""
    state: str
    since: str
    reason: str

    @property
    def is_on(self) -> bool:
        """Whether a person should look."""
        return self.state == "ALARM"


@dataclass(frozen=True)
class Status:
    """A stack's state at one moment."""

    stack: str
    region: str
    queue: Mapping[str, int]
    dead_letters: int
    alarms: Sequence[Alarm]

    @property
    def needs_a_person(self) -> bool:
        """Whether there are dead letters, or an alarm is on."""
        return bool(self.dead_letters) or any(alarm.is_on for alarm in self.alarms)

    def as_json(self) -> dict[str, Any]:
        """Return all of it, for scripts."""
        return asdict(self) | {"needs_a_person": self.needs_a_person}


def status_of(stack: Stack) -> Status:
    """Ask SQS and CloudWatch."""
    return Status(
        stack.name,
        stack.region,
        _counts(stack, "CreateTicketQueueUrl"),
        sum(_counts(stack, "DeadLetterQueueUrl").values()),
        _alarms(stack),
    )


def print_status(console: Console, status: Status) -> None:
    """Print a line for each count, and one for each alarm that is on."""
    lines = [f"{status.stack} in {status.region}"]
    lines += [f"{name.replace('_', ' '):<14}{n}" for name, n in status.queue.items()]
    lines.append(f"{'dead letters':<14}{status.dead_letters}")
    on = [alarm for alarm in status.alarms if alarm.is_on]
    lines.append(f"{'alarms':<14}{len(on)} of {len(status.alarms)} are on")
    for alarm in on:
        reason = visible(alarm.reason, _REASON_WIDTH)
        lines.append(f"{alarm.name} since {alarm.since}: {reason}")
    if on:
        lines.append("docs/operations.md says what to do about each alarm")
    if status.dead_letters:
        lines.append("`ticketctl dead-letters list` says why")
    for line in lines:
        console.print(Text(line))


def _counts(stack: Stack, output: str) -> dict[str, int]:
    attributes = stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.outputs[output], AttributeNames=[*_COUNTS.values()]
    )["Attributes"]
    return {name: int(attributes[attribute]) for name, attribute in _COUNTS.items()}


def _alarms(stack: Stack) -> list[Alarm]:
    """Return the stack's alarms; CloudFormation names them STACK-LOGICALID-SUFFIX."""
    prefix = f"{stack.name}-"
    pages = stack.client("cloudwatch").get_paginator("describe_alarms")
    alarms = [
        (alarm["AlarmName"].removeprefix(prefix).split("-"), alarm)
        for page in pages.paginate(AlarmNamePrefix=prefix, AlarmTypes=["MetricAlarm"])
        for alarm in page["MetricAlarms"]
    ]
    return [
        Alarm(
            parts[0],
            alarm["StateValue"],
            alarm["StateUpdatedTimestamp"].isoformat(timespec="seconds"),
            alarm.get("StateReason", ""),
        )
        for parts, alarm in alarms
        # Else it is an alarm of a stack whose name begins with this one's.
        if len(parts) == len(("logical id", "suffix"))
    ]
