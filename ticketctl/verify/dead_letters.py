"""Takes a run's own dead letters off the dead-letter queue, and no others."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from ticketctl.system.queues import MAX_ENTRIES, delete

# A look lasts no longer, however many letters lie there, and hides none for longer.
_LOOK_SECONDS: Final = 10
_HIDDEN_SECONDS: Final = 30


@dataclass(frozen=True)
class DeadLetter:
    """A message that was set aside."""

    body: str
    error_type: str | None
    """None if SQS moved it after too many deliveries."""
    reason: str


def take_own(sqs: Any, queue_url: str, sent: Collection[str]) -> dict[str, DeadLetter]:
    """Delete the dead letters of these messages, and return them by message id.

    The others are visible to everybody again at the end.
    """
    found: dict[str, DeadLetter] = {}
    others: list[dict[str, Any]] = []
    deadline = time.monotonic() + _LOOK_SECONDS
    try:
        while time.monotonic() < deadline:
            letters = sqs.receive_message(
                QueueUrl=queue_url,
                MaxNumberOfMessages=MAX_ENTRIES,
                VisibilityTimeout=_HIDDEN_SECONDS,
                MessageAttributeNames=["All"],
            ).get("Messages", [])
            if not letters:
                break
            own = [letter for letter in letters if _source_of(letter) in sent]
            others += [letter for letter in letters if letter not in own]
            found |= {_source_of(letter): _dead_letter(letter) for letter in own}
            delete(sqs, queue_url, own)
    finally:
        _show_again(sqs, queue_url, others)
    return found


def _show_again(sqs: Any, queue_url: str, letters: list[dict[str, Any]]) -> None:
    for start in range(0, len(letters), MAX_ENTRIES):
        sqs.change_message_visibility_batch(
            QueueUrl=queue_url,
            Entries=[
                {
                    "Id": str(place),
                    "ReceiptHandle": letter["ReceiptHandle"],
                    "VisibilityTimeout": 0,
                }
                for place, letter in enumerate(letters[start : start + MAX_ENTRIES])
            ],
        )


def _source_of(letter: dict[str, Any]) -> str:
    """Return the message's id: SQS keeps it, and the worker notes it beside a copy."""
    return _attribute(letter, "SourceMessageId") or str(letter["MessageId"])


def _dead_letter(letter: dict[str, Any]) -> DeadLetter:
    return DeadLetter(
        letter["Body"],
        _attribute(letter, "ErrorType"),
        _attribute(letter, "ErrorMessage") or "received too often",
    )


def _attribute(letter: dict[str, Any], name: str) -> str | None:
    value: str | None = (
        letter.get("MessageAttributes", {}).get(name, {}).get("StringValue")
    )
    return value
