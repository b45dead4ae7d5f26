"""Finds a subscriber's own queue."""

import json
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import ClientError

from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.system.stack import Stack
from ticketctl.watch.temporary_queue import not_there

_SYSTEM_QUEUES: Final = {
    "CreateTicketQueueUrl": "the queue of the tickets to be numbered",
    "DeadLetterQueueUrl": "the dead-letter queue",
}


@dataclass(frozen=True)
class SubscriberQueue:
    """A queue that somebody else reads."""

    sqs: Any
    url: str
    max_receive_count: int | None
    """After how many deliveries its redrive policy moves a message away."""


def find_queue(stack: Stack, where: str) -> SubscriberQueue:
    """Find a queue by its URL, name or ARN.

    Raises:
        NotThereError: There is none.
        InputError: It is one of the system's own, or in another Region.
    """
    sqs = stack.client("sqs")
    try:
        url = _url(stack, where)
        attributes = sqs.get_queue_attributes(
            QueueUrl=url, AttributeNames=["RedrivePolicy"]
        ).get("Attributes", {})
    except ClientError as error:
        if not_there(error):
            message = f"no queue {where} in {stack.region} of this account"
            raise NotThereError(message) from error
        raise
    name = url.rpartition("/")[2]
    for output, what in _SYSTEM_QUEUES.items():
        if stack.outputs[output].rpartition("/")[2] == name:
            message = f"{name} is {what}, not a subscriber's queue"
            raise InputError(message)
    policy = json.loads(attributes.get("RedrivePolicy") or "{}")
    most = policy.get("maxReceiveCount")
    return SubscriberQueue(sqs, url, None if most is None else int(most))


def _url(stack: Stack, where: str) -> str:
    if where.startswith(("http://", "https://")):
        return where
    sqs = stack.client("sqs")
    if not where.startswith("arn:"):
        return str(sqs.get_queue_url(QueueName=where)["QueueUrl"])
    match where.split(":"):
        case [_, _, "sqs", region, account, name] if region == stack.region:
            answer = sqs.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=account)
            return str(answer["QueueUrl"])
        case [_, _, "sqs", region, _, _]:
            message = f"the queue is in {region}, but the stack in {stack.region}"
            raise InputError(message)
        case _:
            message = f"not the ARN of a queue: {where}"
            raise InputError(message)
