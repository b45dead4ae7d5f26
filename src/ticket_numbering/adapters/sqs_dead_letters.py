"""The SQS adapter: sends poison to the dead-letter queue, with the reason.

The body stays the same byte for byte, so that a redrive sends the same message.
"""

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ticket_numbering.adapters.batch_api import (
    LONGEST_CALL_SECONDS,
    Entry,
    attributes_size,
    send_all,
)
from ticket_numbering.contract.attributes import (
    ERROR_MESSAGE,
    ERROR_REASON,
    ERROR_TYPE,
    REASON_ATTRIBUTES,
    SENT_TIMESTAMP,
    SOURCE_MESSAGE_ID,
    is_fifo,
    text_attribute,
)
from ticket_numbering.contract.errors import DeadLetterError
from ticket_numbering.contract.field_types import FORBIDDEN_CHARACTERS
from ticket_numbering.contract.time_left import TimeLeft
from ticket_numbering.worker.results import Poison

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MAX_SEND_BYTES: Final = 1024 * 1024
"""SQS's limit of a message and of a batch; SendMessageBatch API reference."""

MAX_MESSAGE_ATTRIBUTES: Final = 10
"""A message has at most 10 attributes; SQS quotas."""

MAX_REASON_CHARACTERS: Final = 1000
"""This project's own limit: a reason is for people, and begins with the field."""

DEAD_LETTER_RESERVE_SECONDS: Final = LONGEST_CALL_SECONDS
"""No call starts with less time left: it covers a call that runs into its timeouts.

A call that outlived the invocation would return the whole batch, delivery by delivery.
"""


class SQSDeadLetters:
    """Sends to the dead-letter queue."""

    def __init__(self, client: "SQSClient", queue_url: str) -> None:
        self._client = client
        self._queue_url = queue_url
        self._is_fifo = is_fifo(queue_url)

    def send(
        self, dead_letters: Sequence[Poison], time_left: TimeLeft
    ) -> dict[str, DeadLetterError]:
        """Send the dead letters as long as time is left; see `DeadLetterQueue`."""
        failures = send_all(
            [_entry(dead_letter, fifo=self._is_fifo) for dead_letter in dead_letters],
            lambda batch: self._client.send_message_batch(
                QueueUrl=self._queue_url,
                Entries=batch,  # type: ignore[arg-type]
            ),
            MAX_SEND_BYTES,
            time_left,
            DEAD_LETTER_RESERVE_SECONDS,
        )
        return {
            dead_letters[position].record.message_id: DeadLetterError(f"SQS: {why}")
            for position, why in failures.items()
        }


def error_message(error: Exception) -> str:
    """Return the error's text in characters that SQS accepts, not empty, shortened."""
    text = FORBIDDEN_CHARACTERS.sub("\ufffd", str(error)) or type(error).__name__
    return text[:MAX_REASON_CHARACTERS]


def _entry(dead_letter: Poison, *, fifo: bool) -> Entry:
    record = dead_letter.record
    body = record.body or ""
    size = len(body.encode(errors="surrogatepass"))
    attributes = _attributes(dead_letter, MAX_SEND_BYTES - size)
    content: dict[str, Any] = {"MessageBody": body, "MessageAttributes": attributes}
    if record.group_id or fifo:
        content["MessageGroupId"] = record.group_id or record.message_id
    if fifo:
        # SQS drops a second sending after a crash, but no other message of this body.
        content["MessageDeduplicationId"] = record.message_id
    return Entry(content, size + attributes_size(attributes))


def _attributes(dead_letter: Poison, room: int) -> dict[str, dict[str, Any]]:
    """Return the attributes of the reason, and those of the message that still fit.

    The reason's text is cut to fit the bytes that the body leaves, if that is enough.
    The code of the reason comes last, so it displaces no attribute of the message.
    """
    record = dead_letter.record
    kept = {
        ERROR_TYPE: text_attribute(type(dead_letter.error).__name__),
        SOURCE_MESSAGE_ID: text_attribute(record.message_id),
    }
    if record.sent_at:
        kept[SENT_TIMESTAMP] = text_attribute(str(record.sent_at))
    reason = error_message(dead_letter.error)
    full = kept | {ERROR_MESSAGE: text_attribute(reason)}
    if (excess := attributes_size(full) - room) > 0:
        cut = reason.encode()[:-excess].decode(errors="ignore") or reason[:1]
        full = kept | {ERROR_MESSAGE: text_attribute(cut)}
    more = {
        name: _attribute(delivered)
        for name, delivered in record.message_attributes.items()
        if name not in REASON_ATTRIBUTES
    }
    more[ERROR_REASON] = text_attribute(dead_letter.error.reason)
    for name, attribute in more.items():
        if attribute is None or len(full) == MAX_MESSAGE_ATTRIBUTES:
            continue
        if attributes_size(full | {name: attribute}) <= room:
            full[name] = attribute
    return full


def _attribute(delivered: Mapping[str, Any]) -> dict[str, Any] | None:
    """Convert an attribute from the form of Lambda to the form of SQS.

    None if it is malformed, which is possible only in a hand-made event.
    """
    match delivered:
        case {"dataType": str(data_type), "binaryValue": str(encoded)}:
            with suppress(ValueError):
                return {"DataType": data_type, "BinaryValue": base64.b64decode(encoded)}
        case {"dataType": str(data_type), "stringValue": str(text)}:
            return {"DataType": data_type, "StringValue": text}
    return None
