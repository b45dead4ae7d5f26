"""The SNS adapter: announces assigned numbers, at least once each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from ticket_numbering.adapters.batch_api import (
    Entry,
    attributes_size,
    is_fifo,
    send_all,
    text_attribute,
)
from ticket_numbering.allocation.allocation import TimeLeft
from ticket_numbering.contract.errors import AnnouncementError
from ticket_numbering.worker.ports import Announcement

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

MAX_PUBLISH_BYTES: Final = 256 * 1024
"""A topic's default limit for a message and for the sum of a batch; SNS API."""


class SNSPublisher:
    """Publishes to the assignments topic."""

    def __init__(self, client: "SNSClient", topic_arn: str) -> None:
        self._client = client
        self._topic_arn = topic_arn
        self._is_fifo = is_fifo(topic_arn)

    def publish(
        self, announcements: Sequence[Announcement], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Publish the announcements, as long as there is time.

        Returns:
            The error of each announcement that SNS did not take, by event id.
        """
        failures = send_all(
            [_entry(one, fifo=self._is_fifo) for one in announcements],
            lambda batch: self._client.publish_batch(
                TopicArn=self._topic_arn,
                PublishBatchRequestEntries=batch,  # type: ignore[arg-type]
            ),
            MAX_PUBLISH_BYTES,
            time_left,
        )
        return {
            announcements[position].event.id: AnnouncementError(f"SNS: {why}")
            for position, why in failures.items()
        }


def _entry(announcement: Announcement, *, fifo: bool) -> Entry:
    event = announcement.event
    message = event.model_dump_json(exclude_none=True)
    attributes = {
        "event_type": text_attribute(event.type),
        "project_id": text_attribute(event.data.project_id),
        "priority": text_attribute(event.data.priority),
        "idempotency_key": text_attribute(event.data.idempotency_key),
        "replayed": text_attribute(str(announcement.replayed).lower()),
    }
    content: dict[str, Any] = {
        "Message": message,
        "MessageAttributes": attributes,
        # SNS passes it on: standard queues that subscribe become fair queues.
        "MessageGroupId": event.data.project_id,
    }
    if fifo:
        content["MessageDeduplicationId"] = _deduplication_id(announcement)
    return Entry(content, len(message.encode()) + attributes_size(attributes))


def _deduplication_id(announcement: Announcement) -> str:
    """Let a FIFO topic drop what botocore sends twice, and no replay.

    It drops an id that it saw in the last 5 minutes, while a replay is to arrive:
    whoever asks for it again may have missed the first.
    """
    event_id = announcement.event.id
    return f"{event_id}/{uuid4()}" if announcement.replayed else event_id
