"""Letters of the dead-letter queue that are hidden from others, and their handles."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ticketctl.cli.signals import running_thread
from ticketctl.dead_letters.letters import Letter
from ticketctl.dead_letters.queue_calls import count, in_batches
from ticketctl.system.queues import FIFO_SUFFIX, MAX_ENTRIES

HOLD_SECONDS: Final = 60
# A long poll asks all of SQS's servers, a short one only some; ReceiveMessage API.
_WAIT_SECONDS: Final = 1
_MAX_EMPTY_RECEIVES: Final = 3


class Hold:
    """The letters that are held; safe to be used by two threads."""

    def __init__(self, sqs: Any, queue_url: str) -> None:
        self._sqs = sqs
        self._queue_url = queue_url
        self._handles: dict[str, str] = {}
        self._lock = threading.Lock()
        # Ctrl-C ends the wait for a call, but not the call, which may bring letters:
        # as it is made by another thread, `close` learns of them.
        self._receiver = running_thread()
        self.before = count(sqs, queue_url)
        """How many letters there were before any was received."""
        self.lost: frozenset[str] = frozenset()
        """Ids of letters that others may have by now."""

    @property
    def is_fifo(self) -> bool:
        """Whether letters that are held hide those behind them in their groups."""
        return self._queue_url.endswith(FIFO_SUFFIX)

    def receive(self) -> Iterator[Letter]:
        """Yield each letter once, until none comes any more.

        On a FIFO queue a group's letters behind those that are held do not come.
        """
        seen: set[str] = set()
        empty = 0
        while empty < _MAX_EMPTY_RECEIVES:
            received = self._receiver.submit(self._receive).result()
            fresh = [each for each in received if each.message_id not in seen]
            seen.update(each.message_id for each in fresh)
            yield from fresh
            empty = 0 if fresh else empty + 1
            if empty and len(seen) >= self.before.visible:
                return

    def renew(self) -> None:
        """Keep the letters for another while, and note which are lost.

        The next time may be better: SQS may have been out of reach.
        """
        handles = self._held()
        failed = self._change(handles, HOLD_SECONDS)
        self.lost = frozenset(self.lost - handles.keys() | failed.keys())

    def regains(self, letter: Letter) -> bool:
        """Make sure that nobody else has the letter, or removed it.

        After a computer has slept, the letter may have to be received once more.
        """
        handles = self._held([letter])
        if handles and not self._change(handles, HOLD_SECONDS):
            return True
        return any(each.message_id == letter.message_id for each in self.receive())

    def release(self, but: Iterable[Letter] = ()) -> int:
        """Make all letters but some visible again, also those never looked at.

        Returns:
            How many stay hidden for up to `HOLD_SECONDS`.
        """
        kept = {each.message_id for each in but}
        handles = {key: each for key, each in self._held().items() if key not in kept}
        with self._lock:
            for message_id in handles:
                del self._handles[message_id]
        return len(self._change(handles, 0).keys() - self.lost)

    def close(self) -> int:
        """Make all letters visible again, also those that are still on their way.

        Returns:
            How many stay hidden for up to `HOLD_SECONDS`.
        """
        self._receiver.shutdown()
        return self.release()

    def delete(self, letters: Sequence[Letter]) -> dict[str, str]:
        """Delete letters for ever.

        Returns:
            Why not, for each that is still there, by message id.
        """
        handles = self._held(letters)
        failed = in_batches(
            handles,
            lambda entries: self._sqs.delete_message_batch(
                QueueUrl=self._queue_url, Entries=entries
            ),
        )
        with self._lock:
            for message_id in handles.keys() - failed.keys():
                del self._handles[message_id]
        return failed

    def _receive(self) -> list[Letter]:
        messages = self._sqs.receive_message(
            QueueUrl=self._queue_url,
            MaxNumberOfMessages=MAX_ENTRIES,
            VisibilityTimeout=HOLD_SECONDS,
            WaitTimeSeconds=_WAIT_SECONDS,
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["All"],
        ).get("Messages", [])
        with self._lock:
            for each in messages:
                self._handles[each["MessageId"]] = each["ReceiptHandle"]
            self.lost -= {each["MessageId"] for each in messages}
        return [Letter.of(each) for each in messages]

    def _held(self, letters: Iterable[Letter] | None = None) -> dict[str, str]:
        with self._lock:
            if letters is None:
                return dict(self._handles)
            ids = [each.message_id for each in letters]
            return {each: self._handles[each] for each in ids if each in self._handles}

    def _change(self, handles: Mapping[str, str], seconds: int) -> dict[str, str]:
        return in_batches(
            handles,
            lambda entries: self._sqs.change_message_visibility_batch(
                QueueUrl=self._queue_url,
                Entries=[each | {"VisibilityTimeout": seconds} for each in entries],
            ),
        )
