"""Sends messages through a stack and follows them to the end."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from ticket_numbering.contract.dead_letters import SOURCE_MESSAGE_ID
from ticket_numbering.contract.events import RefusedRequest, TicketRefused
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.audit.audit import audit_tables
from ticketctl.audit.reading import AuditPlan
from ticketctl.aws.queues import MAX_ENTRIES, Received, Receiver, take
from ticketctl.aws.sender import send
from ticketctl.aws.stack import System
from ticketctl.aws.table_reader import TableReader
from ticketctl.aws.tickets import tickets_above
from ticketctl.verify.observed import Announced, Observed, Project, Sent
from ticketctl.verify.sample import Messages
from ticketctl.verify.verdict import Verdict, judge
from ticketctl.watch.announcements import (
    ASSIGNED,
    REFUSED,
    Announcement,
    read_announcement,
)

_LOOK_SECONDS: Final = 10
"""The longest look at the dead-letter queue."""

_PROBE_SECONDS: Final = 5
"""Between two sendings of the request that a new subscription must deliver."""


@dataclass
class Run:
    """A run: the messages sent, and their outcomes so far."""

    stack: System
    queue_url: str
    """A queue that subscribes to the topic."""
    on_message: Callable[[Received], None] = lambda _: None
    """Called with each message of the topic, for other requests too."""
    clock: Callable[[], float] = time.monotonic
    sent: list[Sent] = field(default_factory=list)
    dead_letters: dict[str, Received] = field(default_factory=dict)
    """By the id of the message that was sent."""
    refusals: dict[str, set[RefusedRequest]] = field(default_factory=dict)
    """By the id of the message that was sent."""
    seconds: list[float] = field(default_factory=list)
    """From sending to the announcement, of each number that was given first."""
    replays: int = 0
    _announced: dict[RequestKey, Announced] = field(
        default_factory=lambda: defaultdict(Announced)
    )
    _sent_at: dict[RequestKey, float] = field(default_factory=dict)

    def probe(self, body: str, patience: float) -> bool:
        """Repeat a request until the subscription delivers; return whether it does.

        "There might be a small time period immediately after subscribing" in which it
        delivers nothing: AWS SDK for Java, `Topics.subscribeQueue`. A repeat is a
        replay, and takes no second number.
        """
        end = self.clock() + patience
        while (now := self.clock()) < end:
            self._send([body])
            while self.clock() < min(now + _PROBE_SECONDS, end):
                self.listen(1)
                if self._announced or self.refusals:
                    return True
        return False

    def verdict(self) -> Verdict:
        """Judge the outcomes so far."""
        return judge(self.observed())

    def follow(self, messages: Messages, patience: float) -> Verdict:
        """Send the messages; judge when all has come, or nothing new in that time."""
        self._send(messages.first)
        verdict = self._wait(patience)
        if messages.later and not verdict.missing:
            self._send(messages.later, is_repeat=True)
            verdict = self._wait(patience)
        return verdict

    def listen(self, wait_seconds: int) -> bool:
        """Receive announcements; return whether any is of these messages."""
        news = False
        for message in take(self.stack, self.queue_url, wait_seconds):
            self.on_message(message)
            found = read_announcement(message)
            if found and found.type == ASSIGNED:
                news |= self._note(found)
            elif found and found.type == REFUSED:
                news |= self._note_refusal(found)
        return news

    def observed(self) -> Observed:
        """Return the outcomes so far, with the tables of this moment."""
        projects = sorted({key.project_id for key in self._sent_at})
        return Observed(
            self.sent,
            self._announced,
            self.dead_letters,
            [_read_project(self.stack, project_id) for project_id in projects],
            self.refusals,
        )

    def _send(self, bodies: Sequence[str], *, is_repeat: bool = False) -> None:
        for start in range(0, len(bodies), MAX_ENTRIES):
            sent_at = self.clock()
            for message in send(self.stack, bodies[start : start + MAX_ENTRIES]):
                sent = Sent(message.message_id, message.body, is_repeat)
                self.sent.append(sent)
                if isinstance(sent.request, CreateTicket):
                    self._sent_at.setdefault(sent.request.key, sent_at)
            self.listen(0)

    def _wait(self, patience: float) -> Verdict:
        last_news = self.clock()
        while True:
            if self.listen(1) | self._take_dead_letters():
                last_news = self.clock()
                continue
            verdict = self.verdict()
            if not verdict.missing or self.clock() > last_news + patience:
                return verdict

    def _take_dead_letters(self) -> bool:
        url = self.stack.outputs["DeadLetterQueueUrl"]
        ids = {sent.message_id for sent in self.sent}
        dead_letters = take_own(self.stack.client("sqs"), url, ids)
        self.dead_letters |= dead_letters
        return bool(dead_letters)

    def _note(self, found: Announcement) -> bool:
        data = found.data
        key = RequestKey(str(data.get("project_id")), str(data.get("idempotency_key")))
        if key not in self._sent_at:
            return False
        announced = self._announced[key]
        if not (announced.ticket_keys or found.replayed):
            self.seconds.append(self.clock() - self._sent_at[key])
        announced.ticket_keys.add(found.event_id)
        announced.replayed |= found.replayed
        self.replays += found.replayed
        return True

    def _note_refusal(self, found: Announcement) -> bool:
        try:
            refused = TicketRefused.model_validate(found.event).data
        except ValidationError:
            return False
        if all(sent.message_id != refused.message_id for sent in self.sent):
            return False
        self.refusals.setdefault(refused.message_id, set()).add(refused)
        return True


def _read_project(stack: System, project_id: str) -> Project:
    tables = (
        stack.outputs["TicketsTableName"],
        stack.outputs["IdempotencyKeysTableName"],
    )
    plan = AuditPlan(*tables, projects=(project_id,))
    report = audit_tables(TableReader(stack.client("dynamodb")), plan)
    audits = {audit.project_id: audit for audit in report.projects}
    tickets = tickets_above(stack, project_id, 0)
    return Project(
        audits[project_id], {ticket.number: ticket.fields for ticket in tickets}
    )


def take_own(sqs: Any, queue_url: str, sent: Collection[str]) -> dict[str, Received]:
    """Delete the dead letters of sent messages; return them by the ids of those.

    Other dead letters are visible again at the end.
    """
    receiver = Receiver(sqs, queue_url)
    found: dict[str, Received] = {}
    deadline = time.monotonic() + _LOOK_SECONDS
    try:
        while time.monotonic() < deadline and (messages := receiver.receive()):
            received = map(Received.of, messages)
            sources = {_source_of(message): message for message in received}
            own = {one: sources[one] for one in sources if one in sent}
            receiver.delete([message.message_id for message in own.values()])
            found |= own
    finally:
        receiver.give_back()
    return found


def _source_of(dead_letter: Received) -> str:
    """Return the sent message's id: SQS keeps it, and the worker's copy names it."""
    return dead_letter.attributes.get(SOURCE_MESSAGE_ID) or dead_letter.message_id
