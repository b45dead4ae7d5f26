"""Checks of the fates of messages: when one is deleted, and when nothing is left."""

from dataclasses import dataclass
from typing import Final

from simulation.aws.messages import Message, reason_of
from simulation.checks.monitor import FULL, Monitor
from simulation.checks.violations import Invariant, broken
from ticket_numbering.contract.attributes import SOURCE_MESSAGE_ID

SHOWN: Final = 120
"""The number of characters of a body that a violation shows."""


@dataclass
class Fates:
    """Checks that each message is answered or dead-lettered, and for a reason."""

    monitor: Monitor

    def deleted(self, message: Message) -> None:
        """See a message before it is deleted from the queue."""
        if not (self.monitor.is_answered(message) or self._is_parked(message)):
            broken(
                Invariant.DELETED_EARLY, f"{message.id} was deleted before it was done"
            )

    def _is_parked(self, message: Message) -> bool:
        return any(
            letter.body == message.body
            and letter.attributes[SOURCE_MESSAGE_ID]["StringValue"] == message.id
            for letter in self.monitor.dead_letters.arrived
            if reason_of(letter)
        )

    def finish(self) -> None:
        """Check the final fate of every message."""
        if self.monitor.queue.messages:
            broken(Invariant.QUEUE_AT_END, "the queue never drained")
        self._check_lost()
        for message in self.monitor.dead_letters.messages.values():
            self._check_dead_letter(message)

    def _check_lost(self) -> None:
        """Check that each body is done, refused at its cap, or a dead letter's."""
        monitor = self.monitor
        parked = {message.body for message in monitor.dead_letters.messages.values()}
        parked |= {
            message.body
            for message in monitor.queue.arrived
            if FULL in monitor.refusals[message.id]
        }
        for body in monitor.sent:  # A number that was never announced is not done.
            if not monitor.is_done(body) and body not in parked:
                broken(Invariant.LOST, f"lost: {body[:SHOWN]}")

    def _check_dead_letter(self, message: Message) -> None:
        if reason_of(message):
            if self.monitor.is_valid(message.body):
                broken(
                    Invariant.VALID_DEAD_LETTER,
                    f"dead-lettered, but valid: {message.body[:SHOWN]}",
                )
        elif message.receives < self.monitor.queue.max_receives:
            broken(
                Invariant.DEAD_LETTER_WITHOUT_REASON,
                f"in the dead-letter queue without a reason: {message.id}",
            )
