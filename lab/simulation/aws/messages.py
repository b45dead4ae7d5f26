"""Messages of SQS, and their records in a Lambda event."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ticket_numbering.contract.attributes import ERROR_REASON, ERROR_TYPE

MILLISECONDS: Final = 1000


EPOCH_SECONDS: Final = 1_795_000_000


@dataclass(eq=False, slots=True)
class Message:
    """A message on a queue."""

    id: str
    body: str
    sent_at: float
    attributes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    group: str | None = None
    receives: int = 0
    visible_at: float = 0.0
    token: str | None = None
    """The deduplication id on a FIFO queue."""
    sequence: int | None = None
    """The sequence number on a FIFO queue."""


def reason_of(message: Message) -> str | None:
    """Return why the worker dead-lettered the message; None if SQS moved it."""
    attribute = message.attributes.get(ERROR_TYPE)
    return str(attribute["StringValue"]) if attribute else None


def code_of(message: Message) -> str | None:
    """Return the code of that reason; None if there was no room for it."""
    attribute = message.attributes.get(ERROR_REASON)
    return str(attribute["StringValue"]) if attribute else None


def received_of(message: Message) -> dict[str, Any]:
    """Return the message as SQS gives it to a client."""
    return {
        "MessageId": message.id,
        "ReceiptHandle": message.id,
        "Body": message.body,
        "Attributes": _system_attributes(message),
        "MessageAttributes": message.attributes,
    }


def record_of(message: Message) -> dict[str, Any]:
    """Return the message as a record of a Lambda event."""
    return {
        "messageId": message.id,
        "receiptHandle": message.id,
        "body": message.body,
        "attributes": _system_attributes(message),
        "messageAttributes": {
            name: {"dataType": value["DataType"], "stringValue": value["StringValue"]}
            for name, value in message.attributes.items()
        },
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:create-ticket",
        "awsRegion": "eu-west-1",
    }


def _system_attributes(message: Message) -> dict[str, str]:
    attributes = {
        "ApproximateReceiveCount": str(message.receives),
        "SentTimestamp": str(int((EPOCH_SECONDS + message.sent_at) * MILLISECONDS)),
    }
    if message.group:
        attributes["MessageGroupId"] = message.group
    if message.token and message.sequence:
        attributes["MessageDeduplicationId"] = message.token
        attributes["SequenceNumber"] = f"{message.sequence:020}"
    return attributes
