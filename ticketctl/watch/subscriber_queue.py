"""Looks into a subscriber's own queue, and takes nothing away."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from botocore.exceptions import ClientError

from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.cli.output import notes
from ticketctl.system.aws_errors import is_not_there
from ticketctl.system.queues import MAX_ENTRIES, Received, received
from ticketctl.system.stack import Stack

LOOK_SECONDS: Final = 15
"""How long a look lasts at most."""

LOOK_COUNT: Final = 100
"""How many messages a look receives at most."""

# Longer than a look, so that no message is seen twice; and all that Ctrl-C can cost.
_VISIBILITY_SECONDS: Final = 30

_SYSTEM_QUEUES: Final = {
    "CreateTicketQueueUrl": "the queue of the tickets to be numbered",
    "DeadLetterQueueUrl": "the dead-letter queue",
}


@dataclass
class Look:
    """What a look has received and not given back yet."""

    sqs: Any
    queue_url: str
    clock: Callable[[], float] = time.monotonic
    _receipts: dict[str, str] = field(default_factory=dict)

    def messages(self) -> Iterator[Received]:
        """Yield what lies on the queue, until there is no more or it is enough."""
        deadline = self.clock() + LOOK_SECONDS
        while self.clock() < deadline and len(self._receipts) < LOOK_COUNT:
            answer = self.sqs.receive_message(
                QueueUrl=self.queue_url,
                MaxNumberOfMessages=MAX_ENTRIES,
                WaitTimeSeconds=1,  # A long poll asks all of SQS's servers.
                VisibilityTimeout=_VISIBILITY_SECONDS,
                MessageAttributeNames=["All"],
            )
            messages = answer.get("Messages", [])
            new = [
                found for found in messages if found["MessageId"] not in self._receipts
            ]
            for message in messages:
                self._receipts[message["MessageId"]] = message["ReceiptHandle"]
            if not new:
                return
            yield from map(received, new)

    def give_back(self) -> None:
        """Make all messages visible again; what SQS fails to is so in half a minute."""
        receipts = list(self._receipts.values())
        for start in range(0, len(receipts), MAX_ENTRIES):
            batch = receipts[start : start + MAX_ENTRIES]
            self.sqs.change_message_visibility_batch(
                QueueUrl=self.queue_url,
                Entries=[
                    {"Id": str(place), "ReceiptHandle": receipt, "VisibilityTimeout": 0}
                    for place, receipt in enumerate(batch)
                ],
            )


@contextmanager
def look(stack: Stack, where: str) -> Iterator[Iterator[Received]]:
    """Look into a queue, and give back what was received when the block ends.

    Args:
        stack: The system that announces to it.
        where: The queue's URL, or its name.

    Raises:
        NotThereError: There is no such queue.
        InputError: It is one of the system's own, or a look would take messages away.
    """
    sqs = stack.client("sqs")
    try:
        is_url = where.startswith(("http://", "https://"))
        url = where if is_url else sqs.get_queue_url(QueueName=where)["QueueUrl"]
        _check(stack, url)
    except ClientError as error:
        if is_not_there(error):
            raise NotThereError(
                f"no queue {where} in {stack.region} of this account"
            ) from error
        raise
    own = Look(sqs, url)
    try:
        yield own.messages()
    finally:
        own.give_back()


def _check(stack: Stack, url: str) -> None:
    name = url.rpartition("/")[2]
    for output, what in _SYSTEM_QUEUES.items():
        if stack.outputs[output].rpartition("/")[2] == name:
            raise InputError(f"{name} is {what}, not a subscriber's queue")
    attributes = stack.client("sqs").get_queue_attributes(
        QueueUrl=url, AttributeNames=["RedrivePolicy"]
    )
    policy = attributes.get("Attributes", {}).get("RedrivePolicy", "{}")
    most = int(json.loads(policy).get("maxReceiveCount", 0))
    if most == 1:
        raise InputError(
            "its messages are dead-lettered after one delivery, and a look is one"
        )
    if most:
        notes().print(
            "each look counts as a delivery, and the queue dead-letters a message "
            f"after {most} deliveries"
        )
