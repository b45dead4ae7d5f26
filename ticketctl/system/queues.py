"""Sends to the queue, listens to the topic, looks into the dead-letter queue."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar
from uuid import uuid4

from ticketctl.cli.errors import CloudError
from ticketctl.system.stack import System

MAX_ENTRIES = 10  # SendMessageBatch, ReceiveMessage and DeleteMessageBatch.
MAX_MESSAGE_BYTES = 1024 * 1024  # Of one message, and of all messages of a batch.
FIFO_SUFFIX = ".fifo"  # Of a FIFO queue's or topic's name, and of no other.
GROUP_ID = re.compile(r"[!-~]{1,128}")  # SendMessage: MessageGroupId.


Message = TypeVar("Message")


@dataclass(frozen=True)
class Sent:
    """A message that lies on the queue."""

    message_id: str
    body: str

    @property
    def key(self) -> tuple[str, str] | None:
        """The request's identity, if the body shows one."""
        fields = self.fields
        project_id, key = fields.get("project_id"), fields.get("idempotency_key")
        if isinstance(project_id, str) and isinstance(key, str):
            return project_id, key
        return None

    @cached_property
    def fields(self) -> dict[str, Any]:
        """The body's fields, none if it is no JSON object."""
        try:
            fields = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return fields if isinstance(fields, dict) else {}


@dataclass(frozen=True)
class Received:
    """A message taken from a queue, with the text of its attributes."""

    message_id: str
    body: str
    attributes: dict[str, str]


def send(stack: System, bodies: Sequence[str]) -> list[Sent]:
    """Put the messages on the queue, in order.

    Raises:
        CloudError: SQS did not take all of them.
    """
    sent: list[Sent] = []
    queue_url = stack.outputs["CreateTicketQueueUrl"]
    order = _in_order if queue_url.endswith(FIFO_SUFFIX) else _group
    for batch in batches(bodies, lambda body: len(body.encode())):
        answer = stack.client("sqs").send_message_batch(
            QueueUrl=queue_url,
            Entries=[
                {"Id": str(position), "MessageBody": body, **order(body)}
                for position, body in enumerate(batch)
            ],
        )
        if failed := answer.get("Failed"):
            message = f"SQS did not take a message: {failed[0].get('Message')}"
            raise CloudError(message)
        ids = {each["Id"]: each["MessageId"] for each in answer["Successful"]}
        sent += [Sent(ids[str(place)], body) for place, body in enumerate(batch)]
    return sent


def batches(
    messages: Iterable[Message],
    size_of: Callable[[Message], int],
    most: int = MAX_ENTRIES,
) -> Iterator[list[Message]]:
    """Pack messages by count and bytes, in order, as `SendMessageBatch` takes them.

    Args:
        messages: What to send.
        size_of: Returns the bytes of a message that count for SQS.
        most: At most so many in a batch.
    """
    batch: list[Message] = []
    size = 0
    for message in messages:
        length = size_of(message)
        if len(batch) == most or (batch and size + length > MAX_MESSAGE_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch:
        yield batch


def subscribe(stack: System, name: str, filter_policy: str = "") -> str:
    """Return the URL of a new queue that receives the announcements, in their order."""
    sqs, topic_arn = stack.client("sqs"), stack.outputs["AssignmentsTopicArn"]
    fifo = topic_arn.endswith(FIFO_SUFFIX)
    queue_url: str = sqs.create_queue(
        QueueName=name + (FIFO_SUFFIX if fifo else ""),
        Attributes={"FifoQueue": "true"} if fifo else {},
    )["QueueUrl"]
    queue_arn = sqs.get_queue_attributes(
        QueueUrl=queue_url, AttributeNames=["QueueArn"]
    )["Attributes"]["QueueArn"]
    sqs.set_queue_attributes(
        QueueUrl=queue_url,
        Attributes={"Policy": topic_may_send(queue_arn, topic_arn)},
    )
    attributes = {"RawMessageDelivery": "true"}
    if filter_policy:
        attributes["FilterPolicy"] = filter_policy
    stack.client("sns").subscribe(
        TopicArn=topic_arn, Protocol="sqs", Endpoint=queue_arn, Attributes=attributes
    )
    return queue_url


def topic_may_send(queue_arn: str, topic_arn: str) -> str:
    """Return the policy of a queue that the topic, and no other, may send to."""
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "sns.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": queue_arn,
                "Condition": {"ArnEquals": {"aws:SourceArn": topic_arn}},
            }
        ],
    }
    return json.dumps(policy)


def take(stack: System, queue_url: str, wait_seconds: int = 0) -> list[Received]:
    """Receive some messages of a queue, and delete them.

    Raises:
        CloudError: SQS says that it will not delete one.
    """
    sqs = stack.client("sqs")
    messages = sqs.receive_message(
        QueueUrl=queue_url,
        MaxNumberOfMessages=MAX_ENTRIES,
        WaitTimeSeconds=wait_seconds,
        MessageAttributeNames=["All"],
    ).get("Messages", [])
    delete(sqs, queue_url, messages)
    return [received(each) for each in messages]


def delete(sqs: Any, queue_url: str, messages: Sequence[dict[str, Any]]) -> None:
    """Delete at most ten messages that were received.

    Raises:
        CloudError: SQS says that it will not delete one.
    """
    if not messages:
        return
    answer = sqs.delete_message_batch(
        QueueUrl=queue_url,
        Entries=[
            {"Id": str(place), "ReceiptHandle": each["ReceiptHandle"]}
            for place, each in enumerate(messages)
        ],
    )
    # What failed by a fault of SQS's own comes again, and is then seen to be a repeat.
    if refused := [each for each in answer.get("Failed", []) if each["SenderFault"]]:
        why = f"{refused[0]['Code']}: {refused[0].get('Message', '')}"
        message = f"SQS does not delete a message that was taken: {why}"
        raise CloudError(message)


def messages_on_queue(stack: System) -> int:
    """Return how many create-ticket messages wait or are being worked on."""
    return messages_on(stack, "CreateTicketQueueUrl")


def messages_on(stack: System, output: str) -> int:
    """Return how many messages lie on the queue that an output names, seen or not."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    attributes = stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.outputs[output], AttributeNames=names
    )["Attributes"]
    return sum(int(attributes[name]) for name in names)


def _group(body: str) -> dict[str, str]:
    """Make a project one tenant of a fair queue: a busy one does not starve others."""
    key = Sent("", body).key
    return {"MessageGroupId": key[0]} if key and GROUP_ID.fullmatch(key[0]) else {}


def _in_order(body: str) -> dict[str, str]:
    """Keep a project's messages in order on a FIFO queue.

    An id of its own lets each message arrive, repeats of earlier ones too: what becomes
    of them is what these tools show.
    """
    nobody = {"MessageGroupId": "-"}
    return nobody | _group(body) | {"MessageDeduplicationId": str(uuid4())}


def received(message: dict[str, Any]) -> Received:
    """Return a message as SQS gives it."""
    attributes = message.get("MessageAttributes", {})
    texts = {name: value.get("StringValue", "") for name, value in attributes.items()}
    return Received(message["MessageId"], message["Body"], texts)
