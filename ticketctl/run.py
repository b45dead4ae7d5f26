"""The main job, shown: messages go in, numbers come out, and the tables agree."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ticketctl.audit import ProjectAudit, audit
from ticketctl.local_stack import LocalStack
from ticketctl.queues import Received, Sent, is_drained, send, subscribe, take

# The worker's own patience is 20 s; twice that without any news is no progress.
_STALLED_SECONDS = 40


@dataclass
class Watch:
    """What the subscribed queue and the dead-letter queue have shown so far."""

    stack: LocalStack
    announcements_url: str
    on_announced: Callable[[dict[str, Any], bool], None]
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Announced events by id, without their repeats."""
    replays: int = 0
    dead_letters: list[Received] = field(default_factory=list)

    def look(self, wait_seconds: int = 0) -> bool:
        """Take what is there; tell whether there was anything."""
        known = len(self.dead_letters)
        announced = take(self.stack, self.announcements_url, wait_seconds)
        for message in announced:
            event = json.loads(message.body)
            replayed = message.attributes["replayed"] == "true"
            self.events[event["id"]] = event
            self.replays += replayed
            self.on_announced(event, replayed)
        self.dead_letters += take(self.stack, self.stack.outputs["DeadLetterQueueUrl"])
        return bool(announced) or len(self.dead_letters) > known


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
    projects: tuple[ProjectAudit, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing at all is wrong."""
        whole = all(project.is_clean for project in self.projects)
        return whole and not (self.unaccounted or self.unannounced)


def start_watch(
    stack: LocalStack, on_announced: Callable[[dict[str, Any], bool], None]
) -> Watch:
    """Subscribe a queue of our own to the topic, before anything is sent."""
    return Watch(stack, subscribe(stack, "run"), on_announced)


def run_messages(watch: Watch, bodies: Sequence[str]) -> Verdict:
    """Send the messages, follow them to their ends, and judge the result."""
    sent = send(watch.stack, bodies)
    for _ in _until_stalled(watch):
        if is_drained(watch.stack):
            break
    # A message leaves the queue after its announcement or dead letter was sent.
    while watch.look():
        pass
    return _judge(watch, sent)


def _until_stalled(watch: Watch) -> Iterator[None]:
    last_news = time.monotonic()
    while time.monotonic() - last_news < _STALLED_SECONDS:
        if watch.look(wait_seconds=1):
            last_news = time.monotonic()
        else:
            yield


def _judge(watch: Watch, sent: Sequence[Sent]) -> Verdict:
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
        projects=tuple(projects),
    )


def _unaccounted(watch: Watch, sent: Sequence[Sent]) -> Iterator[str]:
    """Name each message that was neither dead-lettered nor announced as it reads."""
    dead = {
        # The redrive policy keeps a message's id; the worker notes it beside a copy.
        letter.attributes.get("SourceMessageId", letter.message_id)
        for letter in watch.dead_letters
    }
    titles = {
        (event["data"]["project_id"], event["data"]["idempotency_key"]): (
            event["data"]["title"]
        )
        for event in watch.events.values()
    }
    for message in sent:
        if message.message_id in dead:
            continue
        if message.key is None or titles.get(message.key) != message.title:
            yield message.body
