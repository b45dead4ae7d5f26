"""Shows announcements as they arrive on a temporary queue."""

import math
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from types import TracebackType
from typing import Any, Final
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from ticket_numbering.contract import aws_codes
from ticketctl.aws.announcements import Announcement, line_of, read_announcement
from ticketctl.aws.aws_errors import (
    AWS_ERRORS,
    Suppressed,
    explained,
    is_denied,
    is_not_there,
)
from ticketctl.aws.queues import Received, take
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.topic import create_queue, subscribe_queue
from ticketctl.cli.arguments import checked_projects
from ticketctl.cli.errors import CloudError, Status
from ticketctl.cli.output import print_json_line, print_line, print_note, sanitized

_MAX_WAIT_SECONDS: Final = 20  # ReceiveMessage: WaitTimeSeconds.


@dataclass
class Screen:
    """Prints the messages of some projects."""

    projects: Collection[str] = ()
    """The projects; empty for all."""
    as_json: bool = False
    left: float = math.inf
    """The remaining number of lines."""

    def show(self, messages: Iterable[Received]) -> None:
        """Print messages, up to the number of lines."""
        for message in messages:
            announcement = read_announcement(message)
            project_id = announcement.data.get("project_id") if announcement else None
            if not self.projects or project_id in self.projects:
                self._print(message, announcement)
                self.left -= 1
            if not self.left:
                return

    def _print(self, message: Received, announcement: Announcement | None) -> None:
        if not self.as_json:
            print_line(line_of(message))
        elif announcement:
            print_json_line(announcement.event | {"replayed": announcement.replayed})
        else:
            print_json_line({"not_an_announcement": message.body})


def watch(
    find_stack: Callable[[], StackAccess],
    projects: Sequence[str],
    count: int | None,
    seconds: int | None,
    *,
    as_json: bool,
) -> Status:
    """Show announcements of these projects, or all, until Ctrl-C or a limit."""
    screen = Screen(checked_projects(projects), as_json, count or math.inf)
    stack = find_stack()
    # Ctrl-C is the normal end of a watch without a count.
    with suppress(KeyboardInterrupt):
        watch_topic(stack, screen, seconds or math.inf)
    return Status.PROBLEM if count and screen.left else Status.OK


def watch_topic(stack: StackAccess, screen: Screen, seconds: float = math.inf) -> None:
    """Show announcements, up to the number of lines; the first may be missing.

    Raises:
        CloudError: The temporary queue was deleted.
    """
    with temporary_queue(stack) as queue_url:
        print_note(
            "watching; a new subscription may miss the first seconds; Ctrl-C ends it"
        )
        deadline = time.monotonic() + seconds
        while screen.left and (left := deadline - time.monotonic()) > 0:
            wait_seconds = math.ceil(min(left, _MAX_WAIT_SECONDS))
            try:
                messages = take(stack, queue_url, wait_seconds)
            except ClientError as error:
                if not is_not_there(error):
                    raise
                raise CloudError(
                    "the temporary queue is gone: a watch lasts a day at most; "
                    "announcements may be missing, so start again"
                ) from error
            screen.show(messages)


MAX_AGE_SECONDS: Final = 24 * 60 * 60

_MAX_NAME: Final = 80  # CreateQueue: QueueName.
_LONGEST_END: Final = len("-watch-1234567890-12345678.fifo")
_RETENTION_SECONDS: Final = 60 * 60
_USABLE_AFTER_SECONDS: Final = 1  # CreateQueue: "wait at least one second".


@contextmanager
def temporary_queue(stack: StackAccess) -> Iterator[str]:
    """Subscribe a temporary queue and yield its URL.

    Its name has the time of its creation. If the watch is killed, a later watch removes
    the queue and its subscription when they are a day old.
    """
    # Before the subscription, because the right to remove one may be missing.
    try:
        _unsubscribe(stack, f"{stack.outputs['AssignmentsTopicArn']}:{uuid4()}")
    except ClientError as error:
        if is_denied(error):
            raise
    remove_leftovers(stack, time.time())
    name = f"{name_start(stack)}{int(time.time())}-{token_hex(4)}"
    queue_url, queue_arn = create_queue(
        stack, name, MessageRetentionPeriod=str(_RETENTION_SECONDS)
    )
    with ExitStack() as end:  # Each of them, even if the other fails.
        by_hand = f"aws sqs delete-queue --queue-url {queue_url}"
        remove = partial(_delete_queue, stack, queue_url)
        end.push(partial(_remove_at_end, remove, by_hand))
        time.sleep(_USABLE_AFTER_SECONDS)
        arn = subscribe_queue(stack, queue_arn)
        by_hand = f"aws sns unsubscribe --subscription-arn {arn}"
        remove = partial(_unsubscribe, stack, arn)
        end.push(partial(_remove_at_end, remove, by_hand))
        yield queue_url


def _remove_at_end(
    remove: Callable[[], None],
    by_hand: str,
    _: type[BaseException] | None,
    failure: BaseException | None,
    __: TracebackType | None,
) -> None:
    """Remove a resource, or print the command for a person.

    The first failure is raised: it may be the cause of the others, such as an expired
    credential.
    """
    try:
        remove()
    except AWS_ERRORS:
        print_note(f"left behind; this removes it: {by_hand}")
        if not isinstance(failure, AWS_ERRORS):
            raise


def name_start(stack: StackAccess) -> str:
    """Return the prefix of the names of the stack's temporary queues."""
    return f"{stack.name[: _MAX_NAME - _LONGEST_END]}-watch-"


def remove_leftovers(stack: StackAccess, now: float) -> None:
    """Remove the stack's temporary queues and subscriptions older than a day.

    A failure does not end the watch.
    """
    try:
        pages: Any = stack.client("sns").get_paginator("list_subscriptions_by_topic")
        for page in pages.paginate(TopicArn=stack.outputs["AssignmentsTopicArn"]):
            for subscription in page["Subscriptions"]:
                if _is_old(stack, subscription["Endpoint"].rpartition(":")[2], now):
                    _unsubscribe(stack, subscription["SubscriptionArn"])
        pages = stack.client("sqs").get_paginator("list_queues")
        for page in pages.paginate(QueueNamePrefix=name_start(stack)):
            for queue_url in page.get("QueueUrls", []):
                if _is_old(stack, queue_url.rpartition("/")[2], now):
                    _delete_queue(stack, queue_url)
    except (BotoCoreError, ClientError) as error:
        why = sanitized(str(explained(error)))
        print_note(f"leftover queues are not removed: {why}")


def _is_old(stack: StackAccess, queue_name: str, now: float) -> bool:
    ours = re.escape(name_start(stack)) + r"(\d{10})-[0-9a-f]{8}(\.fifo)?"
    match = re.fullmatch(ours, queue_name)
    return match is not None and int(match[1]) + MAX_AGE_SECONDS < now


def _unsubscribe(stack: StackAccess, subscription_arn: str) -> None:
    _remove(stack.client("sns").unsubscribe, SubscriptionArn=subscription_arn)


def _delete_queue(stack: StackAccess, queue_url: str) -> None:
    _remove(stack.client("sqs").delete_queue, QueueUrl=queue_url)


def _remove(operation: Callable[..., object], **thing: str) -> None:
    """Remove a resource, unless another watch has removed it."""
    with Suppressed(aws_codes.NOT_THERE):
        operation(**thing)
