"""Lets SQS itself move all dead letters back: a message move task.

Always with the destination, for what the worker sent to the dead-letter queue has no
source to go back to, and one such message would fail the task for its neighbours.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import ClientError

from ticketctl.cli.errors import CloudError
from ticketctl.system.aws_errors import error_code

MAX_RATE: Final = 500
"""Messages a second; StartMessageMoveTask API."""

_POLL_SECONDS: Final = 1
_MAX_POLLS_WITHOUT_TASK: Final = 60
_MAX_RESULTS: Final = 10  # ListMessageMoveTasks.
_RUNNING: Final = frozenset({"RUNNING", "CANCELLING"})

# What a service says that has no such operation. Not `UnsupportedOperation`: that is
# SQS's own word for a task that cannot be.
_UNKNOWN_OPERATION: Final = frozenset(
    {"InvalidAction", "NotImplemented", "UnknownOperation", "UnknownOperationException"}
)

Task = Mapping[str, Any]


class NoMoveTasksError(Exception):
    """The service, an emulator, does not know message move tasks."""


@dataclass(frozen=True)
class MoveTasks:
    """The move tasks of one dead-letter queue."""

    sqs: Any
    source_arn: str
    destination_arn: str
    sleep: Callable[[float], None] = time.sleep

    def tasks(self) -> Sequence[Task]:
        """Return the most recent tasks.

        Raises:
            NoMoveTasksError: There is no such operation.
        """
        try:
            answer = self.sqs.list_message_move_tasks(
                SourceArn=self.source_arn, MaxResults=_MAX_RESULTS
            )
        except ClientError as error:
            if error_code(error) in _UNKNOWN_OPERATION:
                raise NoMoveTasksError from error
            raise
        results: list[Task] = answer.get("Results", [])
        return results

    def start(self, rate: int | None) -> int:
        """Start a task.

        Returns:
            When the newest task before this one was started.

        Raises:
            CloudError: One is running already.
            NoMoveTasksError: There is no such operation.
        """
        before = self.tasks()
        if any(each["Status"] in _RUNNING for each in before):
            message = (
                "a redrive is running already; wait for it, or end it with "
                "`ticketctl dead-letters redrive --cancel`"
            )
            raise CloudError(message)
        limit = {} if rate is None else {"MaxNumberOfMessagesPerSecond": rate}
        self.sqs.start_message_move_task(
            SourceArn=self.source_arn, DestinationArn=self.destination_arn, **limit
        )
        return max((_started(each) for each in before), default=-1)

    def follow(self, after: int, progress: Callable[[int, int | None], None]) -> int:
        """Wait until the task that was started ends.

        Args:
            after: When the newest task before it was started.
            progress: Is told how many messages were moved, of how many.

        Returns:
            How many messages were moved.

        Raises:
            CloudError: It failed, was cancelled, or never showed.
        """
        unseen = 0
        while unseen < _MAX_POLLS_WITHOUT_TASK:
            task = max(self.tasks(), key=_started, default={})
            if _started(task) <= after:
                unseen += 1
            else:
                moved = task.get("ApproximateNumberOfMessagesMoved", 0)
                progress(moved, task.get("ApproximateNumberOfMessagesToMove"))
                if task["Status"] not in _RUNNING:
                    return _ended(task, moved)
            self.sleep(_POLL_SECONDS)
        message = (
            "SQS does not show the task that it started; see what it did in the console"
        )
        raise CloudError(message)

    def cancel(self) -> int | None:
        """Cancel the task that runs.

        Returns:
            How many messages it had moved; none if no task runs.

        Raises:
            NoMoveTasksError: There is no such operation.
        """
        running = [each for each in self.tasks() if each["Status"] == "RUNNING"]
        if not running:
            return None
        answer = self.sqs.cancel_message_move_task(TaskHandle=running[0]["TaskHandle"])
        moved: int = answer["ApproximateNumberOfMessagesMoved"]
        return moved


def _started(task: Task) -> int:
    started: int = task.get("StartedTimestamp", -1)
    return started


def _ended(task: Task, moved: int) -> int:
    if task["Status"] == "COMPLETED":
        return moved
    reason = task.get("FailureReason")
    message = (
        f"the task ended as {task['Status']}{f' ({reason})' if reason else ''}; "
        f"it had moved about {moved} messages, the others are still dead letters"
    )
    raise CloudError(message)
