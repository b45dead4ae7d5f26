"""Known-bad algorithms that change one thing in the shipped code."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simulation.execution_environment import ExecutionEnvironment
from ticket_numbering.batch_api import MAX_BATCH_ENTRIES
from ticket_numbering.errors import (
    AnnouncementError,
    DeadLetterError,
)
from ticket_numbering.ports import (
    Announcement,
    DeadLetter,
    TimeLeft,
)
from ticket_numbering.sns_publisher import SNSPublisher, _entry
from ticket_numbering.sqs_dead_letters import SQSDeadLetters


class SilentReplays(SNSPublisher):
    """Takes what was recorded for announced."""

    def publish(
        self, announcements: Sequence[Announcement], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Announce what is new."""
        fresh = [each for each in announcements if not each.replayed]
        return super().publish(fresh, time_left)


class DeafPublisher(SNSPublisher):
    """Takes the answer 200 for a success of every entry."""

    def publish(
        self, announcements: Sequence[Announcement], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Publish, and do not listen."""
        del time_left
        for start in range(0, len(announcements), MAX_BATCH_ENTRIES):
            some = announcements[start : start + MAX_BATCH_ENTRIES]
            entries: Any = [
                {"Id": str(position), **_entry(each, fifo=False).content}
                for position, each in enumerate(some)
            ]
            self._client.publish_batch(
                TopicArn=self._topic_arn, PublishBatchRequestEntries=entries
            )
        return {}


@dataclass
class HastyDeadLetters:
    """Deletes a poison message, and then sends it to the dead-letter queue."""

    environment: ExecutionEnvironment
    real: SQSDeadLetters

    def send(
        self, letters: Sequence[DeadLetter], time_left: TimeLeft
    ) -> dict[str, DeadLetterError]:
        """Send what is no longer on the queue."""
        for letter in letters:
            self.environment.source.delete_message(
                QueueUrl="queue", ReceiptHandle=letter.record.message_id
            )
        return self.real.send(letters, time_left)
