"""How a stack is doing: its queues as they are now, its last hour, its alarms.

The queues' lengths come from SQS itself. All else comes from CloudWatch, which lags
by minutes; what it does not know is none, and not zero.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from botocore.exceptions import ClientError

from ticketctl.status.alarm_states import Alarm, alarm_names, alarm_states
from ticketctl.status.metric_series import Answer, Series, last_hour, nothing_known
from ticketctl.status.stack_metrics import OLDEST, OLDEST_DEAD_LETTER, metrics_of
from ticketctl.system.aws_errors import explained
from ticketctl.system.stack import Stack

OLD_SECONDS: Final = 15 * 60  # As OldestMessageAgeAlarm in template.yaml.


@dataclass(frozen=True)
class Queue:
    """A queue's length, as SQS tells it: approximately, and now."""

    waiting: int
    delayed: int
    in_flight: int

    @property
    def messages(self) -> int:
        """All that lies there, seen or not."""
        return self.waiting + self.delayed + self.in_flight


@dataclass(frozen=True)
class Statistics:
    """One look at a stack."""

    stack: str
    region: str
    at: datetime
    queue: Queue
    dead_letters: Queue
    series: Mapping[str, Series]
    alarms: Sequence[Alarm]
    unknown: Sequence[str]
    """What CloudWatch or CloudFormation would not say, and why."""

    @property
    def oldest_seconds(self) -> float | None:
        """How long the oldest message waits."""
        return self.series[OLDEST].latest

    @property
    def oldest_dead_letter_seconds(self) -> float | None:
        """How long the oldest dead letter lies there."""
        return self.series[OLDEST_DEAD_LETTER].latest

    @property
    def needs_a_person(self) -> list[str]:
        """Why somebody should look, a line each."""
        return list(self._reasons())

    def _reasons(self) -> Iterator[str]:
        if letters := self.dead_letters.messages:
            yield f"dead letters: {letters}; see `ticketctl dead-letters list`"
        for alarm in self.alarms:
            if alarm.is_on:
                yield f"{alarm.name} is on: docs/operations.md says what to do"
        age = self.oldest_seconds
        if age is not None and age > OLD_SECONDS:
            yield f"the oldest message waits for {age / 60:.0f} minutes"


def statistics(stack: Stack, now: datetime | None = None) -> Statistics:
    """Look at the stack.

    Args:
        stack: Which.
        now: The moment that counts as now.

    Raises:
        ClientError: SQS refuses.
        BotoCoreError: AWS cannot be reached.
    """
    moment = now or datetime.now(UTC)
    unknown: list[str] = []
    metrics = metrics_of(stack)
    hour = _unless_refused(
        partial(last_hour, stack.client("cloudwatch"), metrics, moment), unknown
    ) or Answer(nothing_known(metrics))
    alarms = _unless_refused(partial(_alarms, stack), unknown) or []
    return Statistics(
        stack=stack.name,
        region=stack.region,
        at=moment,
        queue=_queue(stack, "CreateTicketQueueUrl"),
        dead_letters=_queue(stack, "DeadLetterQueueUrl"),
        series=hour.series,
        alarms=alarms,
        unknown=[*unknown, *hour.remarks],
    )


def _unless_refused(ask: "partial[Any]", unknown: list[str]) -> Any:
    """Go on without what somebody may not see, or what an emulator does not know."""
    try:
        return ask()
    except ClientError as error:
        unknown.append(str(explained(error)))
        return None


def _alarms(stack: Stack) -> list[Alarm]:
    return alarm_states(stack.client("cloudwatch"), alarm_names(stack))


def _queue(stack: Stack, output: str) -> Queue:
    names = [
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesDelayed",
        "ApproximateNumberOfMessagesNotVisible",
    ]
    attributes = stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.outputs[output], AttributeNames=names
    )["Attributes"]
    return Queue(*(int(attributes[name]) for name in names))
