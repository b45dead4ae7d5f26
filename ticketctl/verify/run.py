"""Sends messages through a stack and follows them to their ends."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ticket_numbering.messages import CreateTicket, RequestKey
from ticketctl.system.queues import MAX_ENTRIES, send, take
from ticketctl.system.stack import System
from ticketctl.verify.dead_letters import DeadLetter, take_own
from ticketctl.verify.projects import read_project
from ticketctl.verify.sample import Messages
from ticketctl.verify.verdict import Announced, Observed, Sent, Verdict, judge
from ticketctl.watch.heard import ASSIGNED, Heard, NotAnAnnouncement, announcement


@dataclass
class Run:
    """Messages on their way, and what was seen of them so far."""

    stack: System
    queue_url: str
    """A queue that the topic sends to."""
    on_heard: Callable[[Heard | NotAnAnnouncement], None] = lambda _: None
    """Called with whatever the topic announces, that of others too."""
    clock: Callable[[], float] = time.monotonic
    sent: list[Sent] = field(default_factory=list)
    dead_letters: dict[str, DeadLetter] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    """From sending to the announcement, of each number that was given first."""
    replays: int = 0
    _announced: dict[RequestKey, Announced] = field(
        default_factory=lambda: defaultdict(Announced)
    )
    _sent_at: dict[RequestKey, float] = field(default_factory=dict)

    def follow(self, messages: Messages, patience: float) -> Verdict:
        """Send the messages, and judge once all has come.

        Args:
            messages: What to send.
            patience: Give up after this many seconds without news.
        """
        self._send(messages.first)
        verdict = self._wait(patience)
        if messages.later and not verdict.missing:
            self._send(messages.later, is_repeat=True)
            verdict = self._wait(patience)
        return verdict

    def listen(self, wait_seconds: int) -> bool:
        """Take what is announced; tell whether it concerned these messages."""
        news = False
        for message in take(self.stack, self.queue_url, wait_seconds):
            heard = announcement(message.body, message.attributes)
            self.on_heard(heard)
            if isinstance(heard, Heard) and heard.type == ASSIGNED:
                news |= self._note(heard)
        return news

    def observed(self) -> Observed:
        """Return what came of the messages so far, with the tables of this moment."""
        projects = sorted({key.project_id for key in self._sent_at})
        return Observed(
            self.sent,
            self._announced,
            self.dead_letters,
            [read_project(self.stack, project_id) for project_id in projects],
        )

    @property
    def numbered(self) -> int:
        """How many numbers were announced, without repeats."""
        announced = self._announced.values()
        return len(set().union(*(each.ticket_keys for each in announced)))

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
            verdict = judge(self.observed())
            if not verdict.missing or self.clock() > last_news + patience:
                return verdict

    def _take_dead_letters(self) -> bool:
        url = self.stack.outputs["DeadLetterQueueUrl"]
        ids = {message.message_id for message in self.sent}
        letters = take_own(self.stack.client("sqs"), url, ids)
        self.dead_letters |= letters
        return bool(letters)

    def _note(self, heard: Heard) -> bool:
        key = RequestKey(
            str(heard.data.get("project_id")), str(heard.data.get("idempotency_key"))
        )
        if key not in self._sent_at:
            return False
        announced = self._announced[key]
        if not (announced.ticket_keys or heard.replayed):
            self.seconds.append(self.clock() - self._sent_at[key])
        announced.ticket_keys.add(heard.event_id)
        announced.replayed |= heard.replayed
        self.replays += heard.replayed
        return True
