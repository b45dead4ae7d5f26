"""Receives dead letters, and deletes them.

Receiving hides a message from all other consumers. No dead letter stays hidden for
longer than a minute: receiving ends before the first would be visible again, and the
rest is made visible at once. So a dead letter is received again after a person has
confirmed, or given another body.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from ticketctl.aws.aws_errors import AWS_ERRORS, explained
from ticketctl.aws.queues import MAX_ENTRIES, Receiver, message_counts
from ticketctl.aws.stack import StackAccess
from ticketctl.cli.errors import CloudError
from ticketctl.cli.output import counted, note_if_interrupted
from ticketctl.dead_letters.dead_letter import DeadLetter

VISIBILITY_SECONDS: Final = 60
_RECEIVE_SECONDS: Final = 50
"""The limit of receiving: the first message would soon be visible again."""

_WAIT_SECONDS: Final = 1
_MAX_RECEIVES_WITHOUT_NEWS: Final = 3


@dataclass
class DeadLetterQueue:
    """The dead-letter queue, and the received dead letters."""

    receiver: Receiver
    visible: int
    """The approximate count of dead letters that can be received."""
    hidden: int = 0
    """The approximate count of dead letters that other consumers hold."""
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)

    def receive(self) -> Iterator[DeadLetter]:
        """Yield the distinct dead letters, until no more come or the time is up."""
        seen = 0
        for new in self.receiver.receive_all(
            _RECEIVE_SECONDS, _WAIT_SECONDS, _MAX_RECEIVES_WITHOUT_NEWS, self.clock
        ):
            yield from map(DeadLetter.of, new)
            seen += len(new)
            if not new and seen >= self.visible:
                return

    def delete(self, message_ids: Sequence[str]) -> Mapping[str, str]:
        """Delete at most ten received dead letters; return the failures by id."""
        try:
            failed = self.receiver.delete_batch(message_ids)
        except AWS_ERRORS as error:
            return dict.fromkeys(message_ids, str(explained(error)))
        return {
            entry_id: failed[entry_id].get("Code", "SQS does not say")
            for entry_id in failed
        }

    def seen_of(self, seen: int) -> str:
        """Return the count of received dead letters, of all, for a note."""
        total = max(seen, self.visible + self.hidden)
        text = f"{seen} of about {counted(total, 'dead letter')}"
        if self.hidden:
            text += f"; hidden for up to {VISIBILITY_SECONDS} s: {self.hidden}"
        return text


@contextmanager
def dead_letter_queue(stack: StackAccess) -> Iterator[DeadLetterQueue]:
    """Open the stack's dead-letter queue; at the end make its messages visible."""
    url = stack.outputs["DeadLetterQueueUrl"]
    receiver = Receiver(stack.client("sqs"), url, VISIBILITY_SECONDS)
    counts = message_counts(stack, "DeadLetterQueueUrl")
    try:
        yield DeadLetterQueue(receiver, counts["waiting"], counts["in_flight"])
    finally:
        receiver.give_back()


def _delete_round(
    stack: StackAccess,
    waiting: dict[str, DeadLetter],
    before: Callable[[DeadLetter], object] | None,
) -> bool:
    """Receive and delete waiting dead letters; return whether any was received."""
    count, most = len(waiting), 1 if before else MAX_ENTRIES
    with dead_letter_queue(stack) as queue:
        dead_letters = (
            dead_letter
            for dead_letter in queue.receive()
            if dead_letter.message_id in waiting
        )
        while batch := [*islice(dead_letters, min(most, len(waiting)))]:
            ids = [dead_letter.message_id for dead_letter in batch]
            if before:
                before(waiting[ids[0]])
            failed = queue.delete(ids)
            for message_id in {*ids} - failed.keys():
                del waiting[message_id]
            if failed:
                names, why = ", ".join(failed), ", ".join(sorted({*failed.values()}))
                raise CloudError(
                    f"{names} could not be deleted ({why}); if it was sent, it is "
                    "there twice, and keeps its number when it is sent again"
                )
    return len(waiting) < count


def delete_dead_letters(
    stack: StackAccess,
    dead_letters: Sequence[DeadLetter],
    before: Callable[[DeadLetter], object] | None = None,
) -> int:
    """Receive dead letters again, delete them in batches, and return the count.

    If `before` is given, it is called with each dead letter first, and they are deleted
    one by one; a dead letter for which it fails stays.

    Raises:
        CloudError: Some were not received again, or not deleted.
    """
    waiting = {dead_letter.message_id: dead_letter for dead_letter in dead_letters}

    def so_far() -> str:
        done = len(dead_letters) - len(waiting)
        return f"done: {done}; still dead letters: {len(waiting)}"

    with note_if_interrupted(so_far):
        # A round ends before its first message is visible again.
        while waiting and _delete_round(stack, waiting, before):
            pass
    if waiting:
        raise CloudError(
            f"{len(waiting)} of {counted(len(dead_letters), 'dead letter')} did not "
            "come again, and nothing was done to them: another consumer holds them, or "
            f"has deleted them; try again in {VISIBILITY_SECONDS} s"
        )
    return len(dead_letters)
