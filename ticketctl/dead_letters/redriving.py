"""Sends letters back to the create-ticket queue, and only then deletes them.

A letter that was sent but could not be deleted is there twice. That is harmless: the
copy asks for the same ticket under the same idempotency key, and is a replay.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from ticketctl.dead_letters.letters import Letter
from ticketctl.dead_letters.queue_calls import CALL_ERRORS, refused
from ticketctl.dead_letters.successors import entry_size, group_of, successor
from ticketctl.system.aws_errors import explained
from ticketctl.system.queues import FIFO_SUFFIX, MAX_ENTRIES, batches

_LOST: Final = "others may have it by now"
_BEHIND: Final = "the one before it in its group was not sent"


class Holder(Protocol):
    """Holds the letters, and deletes them."""

    @property
    def lost(self) -> frozenset[str]:
        """Ids of letters that others may have by now."""
        ...

    def delete(self, letters: Sequence[Letter]) -> dict[str, str]:
        """Delete letters; return why not, by message id."""
        ...


@dataclass
class Redriven:
    """What became of the letters."""

    sent: int = 0
    unsent: dict[str, str] = field(default_factory=dict)
    """Why a letter was not sent and is still there, by message id."""
    undeleted: dict[str, str] = field(default_factory=dict)
    """Why a letter was sent and is still there, by message id."""
    broken: str | None = None
    """Why SQS could not be asked any more."""


@dataclass(frozen=True)
class Redrive:
    """Sends letters to the queue that they came from."""

    sqs: Any
    queue_url: str
    held: Holder
    rate: int | None = None
    """Messages a second, at most."""
    sleep: Callable[[float], None] = time.sleep

    def run(
        self,
        letters: Sequence[Letter],
        advance: Callable[[int], None],
        done: Redriven | None = None,
    ) -> Redriven:
        """Send the letters in their order, and delete those that SQS took.

        Args:
            letters: All of them are held.
            advance: Is told how many more are done with.
            done: Is kept up to date, for who wants to know it after Ctrl-C too.
        """
        done = done or Redriven()
        stuck: set[str] = set()
        for batch in self._batches(letters):
            taken = self._send(self._ready(batch, stuck, done), done)
            done.sent += len(taken)
            done.undeleted |= self.held.delete(taken) if taken else {}
            if self._is_fifo:
                stuck |= {group_of(each) for each in batch if each not in taken}
            advance(len(batch))
            if self.rate:
                self.sleep(len(taken) / self.rate)
        return done

    @property
    def _is_fifo(self) -> bool:
        return self.queue_url.endswith(FIFO_SUFFIX)

    def _batches(self, letters: Sequence[Letter]) -> Iterator[list[Letter]]:
        # Of a FIFO batch SQS may refuse one entry, and take one behind it in its group.
        longest = min(1 if self._is_fifo else MAX_ENTRIES, self.rate or MAX_ENTRIES)
        return batches(letters, self._size, longest)

    def _size(self, letter: Letter) -> int:
        return entry_size(successor(letter, fifo=self._is_fifo))

    def _ready(
        self, batch: Sequence[Letter], stuck: set[str], done: Redriven
    ) -> list[Letter]:
        ready = []
        for letter in batch:
            if done.broken:
                done.unsent[letter.message_id] = done.broken
            elif letter.message_id in self.held.lost:
                done.unsent[letter.message_id] = _LOST
            elif stuck and group_of(letter) in stuck:
                done.unsent[letter.message_id] = _BEHIND
            else:
                ready.append(letter)
        return ready

    def _send(self, letters: Sequence[Letter], done: Redriven) -> list[Letter]:
        """Return the letters that lie on the queue for sure."""
        if not letters:
            return []
        entries = [
            {"Id": str(place), **successor(letter, fifo=self._is_fifo)}
            for place, letter in enumerate(letters)
        ]
        try:
            answer = self.sqs.send_message_batch(
                QueueUrl=self.queue_url, Entries=entries
            )
        except CALL_ERRORS as error:
            # Perhaps SQS has them all the same: what was not seen taken stays.
            done.broken = str(explained(error))
            done.unsent |= {each.message_id: done.broken for each in letters}
            return []
        failed = refused(answer)
        done.unsent |= {letters[place].message_id: why for place, why in failed.items()}
        taken = {int(each["Id"]) for each in answer.get("Successful", [])}
        return [
            letter
            for place, letter in enumerate(letters)
            if place in taken and place not in failed
        ]
