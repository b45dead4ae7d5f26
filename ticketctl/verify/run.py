"""Sends messages through a stack, and waits for their outcomes."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ticket_numbering.contract.messages import RequestKey
from ticketctl.audit.audit import audit_tables
from ticketctl.audit.reading import AuditPlan
from ticketctl.aws.announcements import ASSIGNED, Announcement, read_announcement
from ticketctl.aws.queues import MAX_ENTRIES, Received, Receiver, take
from ticketctl.aws.retry import Patience, RetryPolicy
from ticketctl.aws.sender import send
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.table_reader import TableReader
from ticketctl.verify.observed import Announcements, Observed, Project, Sent
from ticketctl.verify.outcome import Outcome, check_outcomes
from ticketctl.verify.sample import Messages

_LOOK_SECONDS: Final = 10
"""The longest receive from the dead-letter queue."""

_PROBE_SECONDS: Final = 5
"""The interval of repeats of the request that a new subscription must deliver."""


@dataclass
class Run:
    """The sent messages, and their outcomes so far."""

    stack: StackAccess
    queue_url: str
    """The queue that is subscribed to the topic."""
    on_message: Callable[[Received], None] = lambda _: None
    """Called with each message of the topic, also for other requests."""
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    sent: list[Sent] = field(default_factory=list)
    dead_letters: dict[str, Received] = field(default_factory=dict)
    """The dead letters by the id of the sent message."""
    announcements: Announcements = field(default_factory=Announcements)
    """The announcements of these messages' projects."""
    seconds: list[float] = field(default_factory=list)
    """The time from sending to announcement of each new number."""
    replays: int = 0
    _sent_at: dict[RequestKey, float] = field(default_factory=dict)
    _projects: set[str] = field(default_factory=set)

    def probe(self, body: str, patience: float) -> bool:
        """Repeat a request until the subscription delivers; return whether it does.

        "There might be a small time period immediately after subscribing" without
        deliveries: AWS SDK for Java, `Topics.subscribeQueue`. A repeat is a replay, and
        takes no second number.
        """
        end = self.clock() + patience
        while (now := self.clock()) < end:
            self._send([body])
            while self.clock() < min(now + _PROBE_SECONDS, end):
                self.listen(1)
                if self.announcements.numbers or self.announcements.refusals:
                    return True
        return False

    def outcome(self) -> Outcome:
        """Check the outcomes so far, with the current tables."""
        projects: list[Project] = []
        if self._projects:  # An empty plan would mean all projects.
            plan = AuditPlan(tuple(self._projects))
            report = audit_tables(TableReader.of(self.stack), plan)
            projects = [Project.read(self.stack, audit) for audit in report.projects]
        letters = [*self.dead_letters.values()]
        return check_outcomes(
            Observed(self.sent, self.announcements, letters, projects)
        )

    def follow(self, messages: Messages, patience: float) -> Outcome:
        """Send the messages; return the outcome when it is complete, or time is up."""
        self._send(messages.first)
        outcome = self._wait(patience)
        if messages.later and not outcome.missing:
            self._send(messages.later, is_repeat=True)
            outcome = self._wait(patience)
        return outcome

    def listen(self, wait_seconds: int) -> bool:
        """Receive announcements; return whether one belongs to these messages."""
        news = False
        for message in take(self.stack, self.queue_url, wait_seconds):
            self.on_message(message)
            announcement = read_announcement(message)
            news |= announcement is not None and self._note(announcement)
        return news

    def _send(self, bodies: Sequence[str], *, is_repeat: bool = False) -> None:
        for start in range(0, len(bodies), MAX_ENTRIES):
            sent_at = self.clock()
            for message in send(self.stack, bodies[start : start + MAX_ENTRIES]):
                sent = Sent(message.message_id, message.body, is_repeat)
                self.sent.append(sent)
                if sent.key:
                    self._projects.add(sent.key.project_id)
                    self._sent_at.setdefault(sent.key, sent_at)
            self.listen(0)

    def _wait(self, patience: float) -> Outcome:
        wait = Patience(patience, self.clock, RetryPolicy())
        while True:
            if self.listen(1) | self._take_dead_letters():  # It takes a second.
                wait.renew()
                continue
            outcome = self.outcome()
            if not outcome.missing or wait.is_over:
                return outcome

    def _take_dead_letters(self) -> bool:
        url = self.stack.outputs["DeadLetterQueueUrl"]
        ids = {sent.message_id for sent in self.sent}
        dead_letters = take_own(self.stack.client("sqs"), url, ids)
        self.dead_letters |= dead_letters
        return bool(dead_letters)

    def _note(self, announcement: Announcement) -> bool:
        """Record an announcement if it belongs to these messages' projects."""
        key = announcement.key
        if key.project_id not in self._projects:
            return False
        is_first = (
            announcement.type == ASSIGNED and key not in self.announcements.numbers
        )
        if is_first and not announcement.replayed and key in self._sent_at:
            self.seconds.append(self.clock() - self._sent_at[key])
        self.replays += announcement.replayed
        self.announcements.add(announcement)
        return True


def take_own(sqs: Any, queue_url: str, sent: Collection[str]) -> dict[str, Received]:
    """Receive and delete the dead letters of sent messages; return them by id.

    Other dead letters are visible again at the end. A missed dead letter is received by
    the next call.
    """
    receiver = Receiver(sqs, queue_url)
    parked: dict[str, Received] = {}
    try:
        for messages in receiver.receive_all(
            _LOOK_SECONDS, wait_seconds=0, most_empty=1
        ):
            received = map(Received.of, messages)
            own = {
                dead_letter.source: dead_letter
                for dead_letter in received
                if dead_letter.source in sent
            }
            receiver.delete([dead_letter.message_id for dead_letter in own.values()])
            parked |= own
    finally:
        receiver.give_back()
    return parked
