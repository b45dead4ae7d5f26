"""The main job, shown: messages go in, numbers come out, and the tables agree."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ticketctl.audit.audit import ProjectAudit, audit, tickets_of
from ticketctl.local.stack import LocalStack
from ticketctl.system.items import VOIDED
from ticketctl.system.queues import (
    Received,
    Sent,
    messages_on_queue,
    send,
    subscribe,
    take,
)
from ticketctl.watch.heard import ASSIGNED, Heard, NotAnAnnouncement, announcement

# The worker's own patience is 20 s; twice that without any news is no progress.
_STALLED_SECONDS = 40


@dataclass
class Watch:
    """What the subscribed queue and the dead-letter queue have shown so far."""

    stack: LocalStack
    announcements_url: str
    on_announced: Callable[[Heard | NotAnAnnouncement], None]
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Announced numbers by the event's id, without their repeats."""
    replays: int = 0
    dead_letters: list[Received] = field(default_factory=list)

    def look(self, wait_seconds: int = 0) -> bool:
        """Take what is there; tell whether there was anything."""
        known = len(self.dead_letters)
        heard = self.listen(wait_seconds)
        self.dead_letters += take(self.stack, self.stack.outputs["DeadLetterQueueUrl"])
        return heard or len(self.dead_letters) > known

    def listen(self, wait_seconds: int = 0) -> bool:
        """Take what came from the topic; tell whether anything did.

        Numbers are not all that is announced there.
        """
        messages = take(self.stack, self.announcements_url, wait_seconds)
        for message in messages:
            heard = announcement(message.body, message.attributes)
            if isinstance(heard, Heard) and heard.type == ASSIGNED:
                self.events[heard.event_id] = heard.event
                self.replays += heard.replayed
            self.on_announced(heard)
        return bool(messages)


@dataclass(frozen=True)
class Verdict:
    """Whether every message is accounted for and every sequence is whole."""

    sent: int
    events: int
    replays: int
    dead_letters: int
    unaccounted: tuple[str, ...]
    """Bodies of messages that are neither numbered nor dead-lettered."""
    unannounced: tuple[str, ...]
    """Ticket keys that stand in the table but were not announced, or the reverse."""
    waiting: int
    """Messages still on the queue: they failed, and come back."""
    projects: tuple[ProjectAudit, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing at all is wrong."""
        whole = all(project.is_clean for project in self.projects)
        return whole and not (self.unaccounted or self.unannounced or self.waiting)


def start_watch(
    stack: LocalStack, on_announced: Callable[[Heard | NotAnAnnouncement], None]
) -> Watch:
    """Subscribe a queue of our own to the topic, before anything is sent."""
    return Watch(stack, subscribe(stack, "run"), on_announced)


def run_messages(watch: Watch, bodies: Sequence[str]) -> Verdict:
    """Send the messages, follow them to their ends, and judge the result."""
    sent = send(watch.stack, bodies)
    for _ in _until_stalled(watch):
        if not messages_on_queue(watch.stack):
            break
    # A message leaves the queue after its announcement or dead letter was sent.
    while watch.look():
        pass
    return judge_messages(watch, sent)


def _until_stalled(watch: Watch) -> Iterator[None]:
    last_news = time.monotonic()
    while time.monotonic() - last_news < _STALLED_SECONDS:
        if watch.look(wait_seconds=1):
            last_news = time.monotonic()
        else:
            yield


def judge_messages(watch: Watch, sent: Sequence[Sent]) -> Verdict:
    """Compare what was sent with the tables, the announcements and the dead letters."""
    outputs = watch.stack.outputs
    projects = audit(
        watch.stack.client("dynamodb"),
        outputs["TicketsTableName"],
        outputs["IdempotencyKeysTableName"],
    )
    tickets = {
        f"{project.project_id}-{number}"
        for project in projects
        for number in project.numbers
    }
    return Verdict(
        sent=len(sent),
        events=len(watch.events),
        replays=watch.replays,
        dead_letters=len(watch.dead_letters),
        unaccounted=tuple(_unaccounted(watch, sent)),
        unannounced=tuple(sorted(tickets ^ set(watch.events))),
        waiting=messages_on_queue(watch.stack),
        projects=tuple(projects),
    )


def _unaccounted(watch: Watch, sent: Sequence[Sent]) -> Iterator[str]:
    """Name each message that was neither dead-lettered nor numbered as it reads."""
    dead = {
        # The redrive policy keeps a message's id; the worker notes it beside a copy.
        letter.attributes.get("SourceMessageId", letter.message_id): letter.body
        for letter in watch.dead_letters
    }
    table = watch.stack.outputs["TicketsTableName"]
    tickets = {
        (ticket.pop("project_id"), ticket.pop("idempotency_key", None)): ticket
        for ticket in tickets_of(watch.stack.client("dynamodb"), table)
    }
    for message in sent:
        is_dead = dead.get(message.message_id) == message.body
        is_numbered = message.key in tickets and _is_asked_for(
            tickets[message.key], message
        )
        if not (is_dead or is_numbered):
            yield message.body


def _is_asked_for(ticket: Mapping[str, Any], message: Sent) -> bool:
    """Tell whether the ticket holds what the message asks for, no more and no less."""
    asked = {"priority": "medium"} | {
        name: value
        for name, value in message.fields.items()
        if name not in {"project_id", "idempotency_key"} and value not in (None, [], {})
    }
    given = {
        name: value
        for name, value in ticket.items()
        if name not in {"number", "assigned_at", "origin", "status"}
        and not name.startswith(VOIDED)
    }
    return asked == given
