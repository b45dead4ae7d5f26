"""Calls of SQS that answer for each message, and its counts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from ticketctl.system.queues import MAX_ENTRIES

CALL_ERRORS: Final = (BotoCoreError, ClientError)


@dataclass(frozen=True)
class Counts:
    """How many letters there are, as far as SQS counts."""

    visible: int
    hidden: int
    """Somebody holds them."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.visible + self.hidden


def count(sqs: Any, queue_url: str) -> Counts:
    """Return how many messages a queue has."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    attributes = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=names)
    visible, hidden = (int(attributes["Attributes"][name]) for name in names)
    return Counts(visible, hidden)


def in_batches(
    handles: Mapping[str, str], call: Callable[[list[dict[str, Any]]], Any]
) -> dict[str, str]:
    """Make a batch call for every ten handles.

    Returns:
        Why it failed, for each that did, by message id.
    """
    failed: dict[str, str] = {}
    ids = list(handles)
    for start in range(0, len(ids), MAX_ENTRIES):
        batch = ids[start : start + MAX_ENTRIES]
        entries = [
            {"Id": str(place), "ReceiptHandle": handles[each]}
            for place, each in enumerate(batch)
        ]
        try:
            answer = call(entries)
        except CALL_ERRORS as error:
            failed |= dict.fromkeys(batch, str(error))
            continue
        failed |= {batch[place]: why for place, why in refused(answer).items()}
    return failed


def refused(answer: Mapping[str, Any]) -> dict[int, str]:
    """Return why, for each entry that a batch call refused, be its status 200.

    Args:
        answer: To entries whose ids are their places.
    """
    return {
        int(each["Id"]): each.get("Message") or each["Code"]
        for each in answer.get("Failed", [])
    }
