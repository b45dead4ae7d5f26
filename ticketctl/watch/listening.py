"""Hears the announcements live, through a queue of its own that goes when it ends."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from ticketctl.cli.errors import CloudError
from ticketctl.cli.output import notes, visible
from ticketctl.system.aws_errors import explained
from ticketctl.system.queues import MAX_ENTRIES, delete
from ticketctl.watch.heard import Filter, Heard, NotAnAnnouncement, heard
from ticketctl.watch.leftovers import sweep
from ticketctl.watch.temporary_names import NamedSystem
from ticketctl.watch.temporary_queue import TemporaryQueue, make_queue, not_there

__all__ = ["Filter", "Heard", "Listener", "NotAnAnnouncement", "listening"]

MAX_WAIT_SECONDS: Final = 20  # ReceiveMessage: WaitTimeSeconds.


@dataclass(frozen=True)
class Listener:
    """Hears the announcements that are wanted, from when it was made."""

    queue: TemporaryQueue
    wanted: Filter

    def poll(self, wait_seconds: int) -> list[Heard]:
        """Wait for announcements, and take them; call it every few minutes at least.

        Raises:
            CloudError: The queue is gone, or does not give up what was taken.
        """
        return [each for each in self.receive(wait_seconds) if isinstance(each, Heard)]

    def receive(self, wait_seconds: int) -> list[Heard | NotAnAnnouncement]:
        """Wait for announcements, and take them, and whatever else came.

        Raises:
            CloudError: The queue is gone, or does not give up what was taken.
        """
        try:
            self.queue.keep_alive()
            messages = self._take(wait_seconds)
        except ClientError as error:
            if not not_there(error):
                raise
            message = (
                "the temporary queue is gone: this computer slept for too long, or "
                "somebody deleted it; announcements may be missing, so start again"
            )
            raise CloudError(message) from error
        found = [heard(each) for each in messages]
        return [
            each
            for each in found
            # SNS takes up to a quarter of an hour until it heeds a filter policy.
            if isinstance(each, NotAnAnnouncement) or self.wanted.lets_through(each)
        ]

    def _take(self, wait_seconds: int) -> list[dict[str, Any]]:
        sqs = self.queue.stack.client("sqs")
        messages: list[dict[str, Any]] = sqs.receive_message(
            QueueUrl=self.queue.url,
            MaxNumberOfMessages=MAX_ENTRIES,
            WaitTimeSeconds=min(wait_seconds, MAX_WAIT_SECONDS),
            MessageAttributeNames=["All"],
        ).get("Messages", [])
        delete(sqs, self.queue.url, messages)
        return messages


@contextmanager
def listening(
    stack: NamedSystem,
    projects: Collection[str] | None = None,
    *,
    priorities: Collection[str] = (),
    types: Collection[str] = (),
) -> Iterator[Listener]:
    """Hear the announcements for a while, through a temporary queue.

    The queue and its subscription go at the end, also when that is an error, Ctrl-C, or
    a signal to end or hang up. What a killed one left, the next one removes.

    Args:
        stack: Whose announcements.
        projects: Of these alone; else of all.
        priorities: Of these alone; else of all.
        types: Events of these types alone; else of all.

    Raises:
        CloudError: SNS does not confirm the subscription.
    """
    wanted = Filter(projects or (), priorities, types)
    queue = make_queue(stack)
    try:
        _sweep(stack)
        queue.subscribe(wanted)
        yield Listener(queue, wanted)
    finally:
        queue.remove()


def _sweep(stack: NamedSystem) -> None:
    """Remove leftovers; listening goes on if that fails."""
    try:
        sweep(stack)
    except (BotoCoreError, ClientError) as error:
        why = visible(str(explained(error)))
        notes().print(f"leftover queues are not removed: {why}", markup=False)
