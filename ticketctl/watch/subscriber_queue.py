"""Looks into a subscriber's queue, and takes nothing away."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import ClientError

from ticketctl.aws.aws_errors import is_not_there
from ticketctl.aws.queues import Received, Receiver
from ticketctl.aws.stack import System
from ticketctl.cli.errors import InputError, NotThereError

LOOK_SECONDS: Final = 15
"""The longest duration of a look."""

LOOK_COUNT: Final = 100
"""The most messages of a look."""

# Longer than a look, so that no message is seen twice; and all that Ctrl-C can cost.
_VISIBILITY_SECONDS: Final = 30


@contextmanager
def look(
    stack: System, queue: str, clock: Callable[[], float] = time.monotonic
) -> Iterator[Iterator[Received]]:
    """Look into a queue, by its URL or its name; give everything back at the end.

    Raises:
        NotThereError: There is no such queue.
        InputError: A look would take messages away.
    """
    try:
        url = _checked_url(stack, queue)
    except ClientError as error:
        if is_not_there(error):
            raise NotThereError(f"no queue {queue} in this account") from error
        raise
    receiver = Receiver(stack.client("sqs"), url, _VISIBILITY_SECONDS)
    try:
        yield _messages(receiver, clock)
    finally:
        receiver.give_back()


def _checked_url(stack: System, queue: str) -> str:
    sqs = stack.client("sqs")
    is_url = queue.startswith(("http://", "https://"))
    url: str = queue if is_url else sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    attributes = sqs.get_queue_attributes(
        QueueUrl=url, AttributeNames=["RedrivePolicy"]
    ).get("Attributes", {})
    policy = json.loads(attributes.get("RedrivePolicy", "{}"))
    if int(policy.get("maxReceiveCount", 0)) == 1:
        raise InputError(
            "its messages are dead-lettered after one delivery, and a look is one"
        )
    return url


def _messages(receiver: Receiver, clock: Callable[[], float]) -> Iterator[Received]:
    """Yield the messages of the queue, up to the limits of a look."""
    deadline = clock() + LOOK_SECONDS
    while clock() < deadline and len(receiver.receipts) < LOOK_COUNT:
        # A long poll asks all of SQS's servers.
        if not (messages := receiver.receive(wait_seconds=1)):
            return
        yield from map(Received.of, messages)
