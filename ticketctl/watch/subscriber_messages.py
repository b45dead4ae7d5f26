"""Shows what lies on a subscriber's queue, and leaves it there unless told not to."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from ticketctl.cli.errors import InputError
from ticketctl.cli.output import notes
from ticketctl.cli.signals import running_thread
from ticketctl.system.queues import MAX_ENTRIES, delete
from ticketctl.watch.heard import Filter, Heard, NotAnAnnouncement, heard
from ticketctl.watch.subscriber_queue import SubscriberQueue
from ticketctl.watch.watching import Limits, Screen, watch

PEEK_SECONDS: Final = 20
"""How long a look lasts at most."""

PEEK_COUNT: Final = 100
"""How many messages a look shows, if not told otherwise."""

# Longer than a look, so that nobody else has a message when it is given back.
_HOLD_SECONDS: Final = PEEK_SECONDS + 10


def peek(
    queue: SubscriberQueue, wanted: Filter, screen: Screen, limits: Limits
) -> bool:
    """Show what lies on a queue and give it back.

    Returns:
        That this was enough: what lies there is all there is.

    Raises:
        InputError: It would take too long, or take the messages from the subscriber.
    """
    limits.count = limits.count or PEEK_COUNT
    limits.seconds = limits.seconds or PEEK_SECONDS
    if limits.seconds > PEEK_SECONDS:
        message = f"a look lasts {PEEK_SECONDS} seconds at most; give less with --for"
        raise InputError(message)
    _warn(queue.max_receive_count)
    look = Peek(queue, wanted)
    try:
        watch(look, screen, limits)
    finally:
        if hidden := look.give_back():
            notes().print(f"messages that stay hidden for half a minute: {hidden}")
    return True


def consume(queue: SubscriberQueue, screen: Screen, limits: Limits) -> bool:
    """Show and delete what comes to a queue.

    Returns:
        Whether as many came as were to come.

    Raises:
        CloudError: SQS does not delete what was shown.
    """
    notes().print("taking messages; Ctrl-C ends it")
    return watch(Consume(queue), screen, limits)


@dataclass
class Peek:
    """A look at a queue; everything is given back at its end."""

    queue: SubscriberQueue
    wanted: Filter
    _receipts: dict[str, str] = field(default_factory=dict)
    # Ctrl-C ends the wait for a call, but not the call, which may bring messages: as
    # it is made by another thread, `give_back` learns of them.
    _receiver: ThreadPoolExecutor = field(default_factory=running_thread)

    def receive(
        self, wait_seconds: int, most: int
    ) -> Sequence[Heard | NotAnAnnouncement] | None:
        """Receive messages that were not seen yet; nothing when there are no more."""
        # A long poll asks all of SQS's servers; a look need not wait for more.
        wait_seconds = min(1, wait_seconds)
        new = self._receiver.submit(self._receive, wait_seconds, most).result()
        if not new:
            return None
        found = [heard(each) for each in new]
        return [
            each
            for each in found
            if isinstance(each, NotAnAnnouncement) or self.wanted.lets_through(each)
        ]

    def shown(self) -> None:
        """Do nothing: a look holds on to what it shows until it ends."""

    def give_back(self) -> int:
        """Make all messages visible again.

        Returns:
            How many SQS did not make visible; they are in `_HOLD_SECONDS`.
        """
        self._receiver.shutdown()
        receipts, failed = list(self._receipts.values()), 0
        for start in range(0, len(receipts), MAX_ENTRIES):
            answer = self.queue.sqs.change_message_visibility_batch(
                QueueUrl=self.queue.url,
                Entries=[
                    {"Id": str(place), "ReceiptHandle": each, "VisibilityTimeout": 0}
                    for place, each in enumerate(receipts[start : start + MAX_ENTRIES])
                ],
            )
            failed += len(answer.get("Failed", []))
        return failed

    def _receive(self, wait_seconds: int, most: int) -> list[dict[str, Any]]:
        messages = _receive(
            self.queue, wait_seconds, most, VisibilityTimeout=_HOLD_SECONDS
        )
        new = [each for each in messages if each["MessageId"] not in self._receipts]
        for each in messages:
            self._receipts[each["MessageId"]] = each["ReceiptHandle"]
        return new


@dataclass
class Consume:
    """Takes what comes to a queue: each message is deleted when it is shown."""

    queue: SubscriberQueue
    _messages: list[dict[str, Any]] = field(default_factory=list)

    def receive(
        self, wait_seconds: int, most: int
    ) -> Sequence[Heard | NotAnAnnouncement]:
        """Wait for messages."""
        self._messages = _receive(self.queue, wait_seconds, most)
        return [heard(each) for each in self._messages]

    def shown(self) -> None:
        """Delete what was received last.

        Raises:
            CloudError: SQS says that it will not.
        """
        delete(self.queue.sqs, self.queue.url, self._messages)


def _receive(
    queue: SubscriberQueue, wait_seconds: int, most: int, **options: Any
) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = queue.sqs.receive_message(
        QueueUrl=queue.url,
        MaxNumberOfMessages=most,
        WaitTimeSeconds=wait_seconds,
        MessageAttributeNames=["All"],
        **options,
    ).get("Messages", [])
    return messages


def _warn(max_receive_count: int | None) -> None:
    if max_receive_count == 1:
        message = (
            "its messages are dead-lettered after one delivery, and a look is one; "
            "take them with --delete"
        )
        raise InputError(message)
    if max_receive_count:
        notes().print(
            "each look counts as a delivery, and the queue dead-letters a message "
            f"after {max_receive_count} deliveries"
        )
