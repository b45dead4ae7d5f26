"""The SNS adapter: announces numbers and refusals, at least once each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ticket_numbering.adapters.batch_api import Entry, attributes_size, send_all
from ticket_numbering.contract.attributes import is_fifo
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.errors import AnnouncementError
from ticket_numbering.contract.time_left import TimeLeft

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

MAX_PUBLISH_BYTES: Final = 256 * 1024
"""The limit of a message and of a batch, by default; SNS API reference."""


class SNSPublisher:
    """Publishes to the assignments topic."""

    def __init__(self, client: "SNSClient", topic_arn: str) -> None:
        self._client = client
        self._topic_arn = topic_arn
        self._is_fifo = is_fifo(topic_arn)

    def publish(
        self, envelopes: Sequence[Envelope], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Publish the events as long as time is left; see `Publisher`."""
        failures = send_all(
            [_entry(envelope, fifo=self._is_fifo) for envelope in envelopes],
            lambda batch: self._client.publish_batch(
                TopicArn=self._topic_arn,
                PublishBatchRequestEntries=batch,  # type: ignore[arg-type]
            ),
            MAX_PUBLISH_BYTES,
            time_left,
        )
        return {
            envelopes[position].event.id: AnnouncementError(f"SNS: {why}")
            for position, why in failures.items()
        }


def _entry(envelope: Envelope, *, fifo: bool) -> Entry:
    content = envelope.entry(fifo=fifo)
    message, attributes = content["Message"], content["MessageAttributes"]
    return Entry(content, len(message.encode()) + attributes_size(attributes))
