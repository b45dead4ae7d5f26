"""Shows announcements as they come, a line each."""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import ClientError
from rich.text import Text

from ticketctl.cli.errors import CloudError
from ticketctl.cli.output import console, notes, print_json_line, visible
from ticketctl.system.aws_errors import is_not_there
from ticketctl.system.queues import Received, take
from ticketctl.watch.heard import (
    ASSIGNED,
    VOIDED,
    Filter,
    Heard,
    NotAnAnnouncement,
    announcement,
)
from ticketctl.watch.temporary_queue import NamedSystem, temporary_queue

_MAX_WAIT_SECONDS: Final = 20  # ReceiveMessage: WaitTimeSeconds.
_BODY_WIDTH: Final = 200
_TITLE_WIDTH: Final = 100


@dataclass
class Screen:
    """Prints the messages that are wanted."""

    wanted: Filter
    as_json: bool = False
    left: float = math.inf
    """How many lines are to come still."""

    def show(self, messages: Iterable[Received]) -> None:
        """Print messages, until it is enough."""
        for message in messages:
            found = announcement(message.body, message.attributes)
            if self.wanted.lets_through(found):
                self._print(found)
                self.left -= 1
            if not self.left:
                return

    def _print(self, found: Heard | NotAnAnnouncement) -> None:
        match found:
            case NotAnAnnouncement(body) if self.as_json:
                print_json_line({"not_an_announcement": body})
            case NotAnAnnouncement(body):
                line = f"not an announcement: {visible(body, _BODY_WIDTH)}"
                console().print(Text(line, style="yellow"))
            case Heard(event, replayed) if self.as_json:
                print_json_line(event | {"replayed": replayed})
            case Heard(_, replayed):
                mark = "  (replay)" if replayed else ""
                console().print(Text(line_of(found)).append(mark, style="dim"))


def watch_topic(stack: NamedSystem, screen: Screen, seconds: float = math.inf) -> None:
    """Show what is announced from now on, until it is enough.

    Raises:
        CloudError: The temporary queue is gone.
        ClientError: SNS or SQS does not let us.
    """
    with temporary_queue(stack) as queue_url:
        notes().print("watching; Ctrl-C ends it")
        deadline = time.monotonic() + seconds
        while screen.left and (left := deadline - time.monotonic()) > 0:
            wait_seconds = math.ceil(min(left, _MAX_WAIT_SECONDS))
            screen.show(_take(stack, queue_url, wait_seconds))


def _take(stack: NamedSystem, queue_url: str, wait_seconds: int) -> list[Received]:
    try:
        return take(stack, queue_url, wait_seconds)
    except ClientError as error:
        if not is_not_there(error):
            raise
        raise CloudError(
            "the temporary queue is gone: a watch lasts a day at most, or somebody "
            "deleted it; announcements may be missing, so start again"
        ) from error


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
