"""Shows messages as they come: announcements a line each, until that is enough."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from rich.console import Console
from rich.text import Text

from ticketctl.cli.output import console, notes, print_json_line, visible
from ticketctl.system.queues import MAX_ENTRIES
from ticketctl.watch.heard import ASSIGNED, VOIDED, Filter, Heard, NotAnAnnouncement
from ticketctl.watch.listening import MAX_WAIT_SECONDS, Listener, listening
from ticketctl.watch.temporary_names import NamedSystem

_TITLE_WIDTH: Final = 100
_BODY_WIDTH: Final = 200

# Enough to know a repeat by; forgets the oldest of a watch that goes on for days.
_REMEMBERED: Final = 100_000


class Source(Protocol):
    """Where messages come from."""

    def receive(
        self, wait_seconds: int, most: int
    ) -> Sequence[Heard | NotAnAnnouncement] | None:
        """Wait for messages; nothing at all when there will be no more."""
        ...

    def shown(self) -> None:
        """Hear that the messages received last are shown."""
        ...


@dataclass(frozen=True)
class Live:
    """What the topic announces."""

    listener: Listener

    def receive(
        self, wait_seconds: int, most: int
    ) -> Sequence[Heard | NotAnAnnouncement]:
        """Wait for announcements."""
        return self.listener.receive(wait_seconds)[:most]

    def shown(self) -> None:
        """Do nothing: what was received is deleted."""


@dataclass
class Limits:
    """How much is enough."""

    count: int | None = None
    seconds: float | None = None
    _started: float = field(default_factory=time.monotonic)

    @property
    def most(self) -> int:
        """How many messages to receive at once."""
        return MAX_ENTRIES if self.count is None else min(MAX_ENTRIES, self.count)

    @property
    def wait_seconds(self) -> int:
        """How long to wait for messages at once; none when it is enough."""
        if self.count == 0:
            return 0
        if self.seconds is None:
            return MAX_WAIT_SECONDS
        left = self._started + self.seconds - time.monotonic()
        return max(0, min(MAX_WAIT_SECONDS, math.ceil(left)))

    def restarted(self) -> "Limits":
        """Return the same limits, with the time that counts from now."""
        return Limits(self.count, self.seconds)

    def take(self, number: int) -> None:
        """Count what was shown."""
        if self.count is not None:
            self.count -= number


@dataclass
class Screen:
    """Prints a line for each message."""

    as_json: bool = False
    _console: Console = field(default_factory=console)
    _seen: dict[tuple[str, str], None] = field(default_factory=dict)

    def show(self, message: Heard | NotAnAnnouncement) -> None:
        """Print the message."""
        match message:
            case NotAnAnnouncement(body) if self.as_json:
                print_json_line({"not_an_announcement": body})
            case NotAnAnnouncement(body):
                line = f"not an announcement: {visible(body, _BODY_WIDTH)}"
                self._console.print(Text(line, style="yellow"))
            case Heard(event, replayed) if self.as_json:
                print_json_line(event | {"replayed": replayed})
            case Heard():
                marks = self._marks(message)
                self._console.print(Text(line_of(message)).append(marks, style="dim"))

    def _marks(self, heard: Heard) -> str:
        marks = "  (replay)" if heard.replayed else ""
        key = (heard.type, heard.event_id)
        if key in self._seen:
            return marks + "  (repeat)"
        self._seen[key] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return marks


def watch(source: Source, screen: Screen, limits: Limits) -> bool:
    """Show what comes, until it is enough.

    Returns:
        Whether as many messages came as were to come.
    """
    while wait_seconds := limits.wait_seconds:
        messages = source.receive(wait_seconds, limits.most)
        if messages is None:
            break
        for each in messages:
            screen.show(each)
        source.shown()
        limits.take(len(messages))
    return not limits.count


def watch_topic(
    stack: NamedSystem, wanted: Filter, screen: Screen, limits: Limits
) -> bool:
    """Show what is announced from now on.

    Returns:
        Whether as many announcements came as were to come.

    Raises:
        CloudError: SNS or SQS does not let us.
    """
    with listening(
        stack, wanted.projects, priorities=wanted.priorities, types=wanted.types
    ) as listener:
        notes().print("watching; Ctrl-C ends it")
        return watch(Live(listener), screen, limits.restarted())


def line_of(heard: Heard) -> str:
    """Return an announcement as a line for people."""
    data = heard.data
    key = _text(data.get("ticket_key", heard.event_id))
    if heard.type == ASSIGNED:
        project, priority = _text(data.get("project_id")), _text(data.get("priority"))
        title = _text(data.get("title"), _TITLE_WIDTH)
        return f"{key:<12} {project:<10} {priority:<7} {title}"
    if heard.type == VOIDED:
        return f"{key} voided: {_text(data.get('reason'), _TITLE_WIDTH)}"
    return f"{_text(heard.event_id):<12} {_text(heard.type)}"


def _text(value: Any, width: int | None = None) -> str:
    return visible("-" if value is None else str(value), width)
