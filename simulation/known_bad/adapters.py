"""Known-bad adapters of SNS and SQS."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from simulation.aws.lambda_service import Handler
from simulation.execution_environment import ExecutionEnvironment
from ticket_numbering.batch_api import MAX_BATCH_ENTRIES
from ticket_numbering.errors import AnnouncementError, DeadLetterError
from ticket_numbering.ports import Announcement, DeadLetter, TimeLeft
from ticket_numbering.sns_publisher import SNSPublisher, _entry
from ticket_numbering.sqs_dead_letters import SQSDeadLetters


class SilentReplays(SNSPublisher):
    """Takes what was recorded for announced."""

    def publish(
        self, announcements: Sequence[Announcement], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Announce what is new."""
        new = [
            announcement for announcement in announcements if not announcement.replayed
        ]
        return super().publish(new, time_left)


class DeafPublisher(SNSPublisher):
    """Takes the answer 200 for a success of every entry."""

    def publish(
        self, announcements: Sequence[Announcement], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Publish, and ignore the answer."""
        del time_left
        for start in range(0, len(announcements), MAX_BATCH_ENTRIES):
            batch = announcements[start : start + MAX_BATCH_ENTRIES]
            entries: Any = [
                {"Id": str(position), **_entry(announcement, fifo=False).content}
                for position, announcement in enumerate(batch)
            ]
            self._client.publish_batch(
                TopicArn=self._topic_arn, PublishBatchRequestEntries=entries
            )
        return {}


def with_publisher(
    kind: type[SNSPublisher],
) -> Callable[[ExecutionEnvironment], Handler]:
    """Build the worker with another publisher."""
    return lambda environment: environment.handler(
        publisher=environment.publisher(kind)
    )


@dataclass
class HastyDeadLetters:
    """Deletes a poison message, and then sends it to the dead-letter queue."""

    source: Any
    real: SQSDeadLetters

    def send(
        self, letters: Sequence[DeadLetter], time_left: TimeLeft
    ) -> dict[str, DeadLetterError]:
        """Send what is no longer on the queue."""
        for letter in letters:
            self.source.delete_message(
                QueueUrl="queue", ReceiptHandle=letter.record.message_id
            )
        return self.real.send(letters, time_left)


def deleting_too_early(environment: ExecutionEnvironment) -> Handler:
    """Build the worker with the hasty dead letters."""
    hasty = HastyDeadLetters(environment.source, environment.dead_letters())
    return environment.handler(dead_letters=hasty)
