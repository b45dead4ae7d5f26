"""The message attributes of events and dead letters; the names of FIFO queues."""

from typing import Final

FIFO_SUFFIX: Final = ".fifo"
"""SQS and SNS require it in FIFO names and allow it in no other."""

# The attributes that the worker adds to a dead letter; see `docs/operations.md`.
ERROR_TYPE: Final = "ErrorType"
ERROR_MESSAGE: Final = "ErrorMessage"
ERROR_REASON: Final = "ErrorReason"
SOURCE_MESSAGE_ID: Final = "SourceMessageId"
SENT_TIMESTAMP: Final = "SentTimestamp"
REASON_ATTRIBUTES: Final = frozenset(
    {ERROR_TYPE, ERROR_MESSAGE, ERROR_REASON, SOURCE_MESSAGE_ID, SENT_TIMESTAMP}
)


def is_fifo(name: str) -> bool:
    """Tell by its name, URL or ARN whether a queue or topic is FIFO."""
    return name.endswith(FIFO_SUFFIX)


def text_attribute(value: str) -> dict[str, str]:
    """Return a text as a message attribute of SNS and SQS."""
    return {"DataType": "String", "StringValue": value}
