"""Publishes events to the topic, and subscribes queues."""

import json
from collections.abc import Sequence
from typing import Final

from ticket_numbering.contract.attributes import FIFO_SUFFIX, is_fifo
from ticket_numbering.contract.envelope import Envelope
from ticketctl.aws.stack import StackAccess
from ticketctl.cli.errors import CloudError

_MAX_EVENTS: Final = 10
"""The limit of PublishBatch; ten events of tickets are far below its 256 KiB."""

_IN_FLIGHT: Final = 8
"""The maximum of concurrent calls; boto3 keeps ten connections."""


def limits(stack: StackAccess) -> tuple[int, int]:
    """Return the maxima of events in a call, and of concurrent calls.

    Both are one on a FIFO topic, to keep the order.
    """
    is_ordered = is_fifo(stack.outputs["AssignmentsTopicArn"])
    return (1, 1) if is_ordered else (_MAX_EVENTS, _IN_FLIGHT)


def publish(stack: StackAccess, envelopes: Sequence[Envelope]) -> list[Envelope]:
    """Publish events in one call, as the worker does.

    Returns:
        The events that SNS itself failed to take, in order; they can be retried.

    Raises:
        CloudError: SNS rejects an event.
    """
    topic_arn = stack.outputs["AssignmentsTopicArn"]
    answer = stack.client("sns").publish_batch(
        TopicArn=topic_arn,
        PublishBatchRequestEntries=[
            {"Id": str(index), **envelope.entry(fifo=is_fifo(topic_arn))}
            for index, envelope in enumerate(envelopes)
        ],
    )
    for entry in answer.get("Failed", []):
        if entry.get("SenderFault"):
            event_id = envelopes[int(entry["Id"])].event.id
            why = f"{entry.get('Code')}: {entry.get('Message', '')}"
            raise CloudError(f"SNS does not take {event_id}: {why}")
    # An entry counts as published only if the response lists it as successful.
    taken = {int(entry["Id"]) for entry in answer.get("Successful", [])}
    return [envelope for index, envelope in enumerate(envelopes) if index not in taken]


def subscribe(stack: StackAccess, name: str) -> str:
    """Create a queue that receives the announcements, in order; return its URL."""
    queue_url, queue_arn = create_queue(stack, name)
    subscribe_queue(stack, queue_arn)
    return queue_url


def create_queue(stack: StackAccess, name: str, **attributes: str) -> tuple[str, str]:
    """Create a queue that the topic may send to; return its URL and its ARN."""
    topic_arn = stack.outputs["AssignmentsTopicArn"]
    if is_fifo(topic_arn):
        name += FIFO_SUFFIX
        attributes["FifoQueue"] = "true"
    # The queue has the topic's account and Region.
    arn_start = topic_arn.rpartition(":")[0].replace(":sns:", ":sqs:", 1)
    queue_arn = f"{arn_start}:{name}"
    # All in one request: a later change takes up to a minute to be effective.
    policy = topic_may_send(queue_arn, topic_arn)
    queue_url: str = stack.client("sqs").create_queue(
        QueueName=name, Attributes=attributes | {"Policy": policy}
    )["QueueUrl"]
    return queue_url, queue_arn


def subscribe_queue(stack: StackAccess, queue_arn: str, **attributes: str) -> str:
    """Subscribe a queue with raw delivery; return the subscription's ARN."""
    subscription_arn: str = stack.client("sns").subscribe(
        TopicArn=stack.outputs["AssignmentsTopicArn"],
        Protocol="sqs",
        Endpoint=queue_arn,
        Attributes={"RawMessageDelivery": "true"} | attributes,
        ReturnSubscriptionArn=True,
    )["SubscriptionArn"]
    return subscription_arn


def topic_may_send(queue_arn: str, topic_arn: str) -> str:
    """Return the policy of a queue to which only the topic may send."""
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
