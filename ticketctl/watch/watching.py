"""Shows announcements as they arrive, a line each."""

import math
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from botocore.exceptions import ClientError

from ticketctl.aws.announcements import Announcement, line_of, read_announcement
from ticketctl.aws.aws_errors import is_not_there
from ticketctl.aws.queues import Received, take
from ticketctl.aws.stack import System
from ticketctl.cli.errors import CloudError
from ticketctl.cli.output import console, print_json_line, remark
from ticketctl.watch.temporary_queue import temporary_queue

_MAX_WAIT_SECONDS: Final = 20  # ReceiveMessage: WaitTimeSeconds.


@dataclass
class Screen:
    """Prints the messages of some projects."""

    projects: Collection[str] = ()
    """All projects if empty."""
    as_json: bool = False
    left: float = math.inf
    """The number of lines that are left."""

    def show(self, messages: Iterable[Received]) -> None:
        """Print messages, up to the number of lines."""
        for message in messages:
            found = read_announcement(message)
            project_id = found.data.get("project_id") if found else None
            if not self.projects or project_id in self.projects:
                self._print(message, found)
                self.left -= 1
            if not self.left:
                return

    def _print(self, message: Received, found: Announcement | None) -> None:
        if not self.as_json:
            console().print(line_of(message))
        elif found:
            print_json_line(found.event | {"replayed": found.replayed})
        else:
            print_json_line({"not_an_announcement": message.body})


def watch_topic(stack: System, screen: Screen, seconds: float = math.inf) -> None:
    """Show announcements, up to the number of lines; the first may be missed.

    Raises:
        CloudError: The temporary queue is gone.
    """
    with temporary_queue(stack) as queue_url:
        remark(
            "watching; a new subscription may miss the first seconds; Ctrl-C ends it"
        )
        deadline = time.monotonic() + seconds
        while screen.left and (left := deadline - time.monotonic()) > 0:
            wait_seconds = math.ceil(min(left, _MAX_WAIT_SECONDS))
            try:
                messages = take(stack, queue_url, wait_seconds)
            except ClientError as error:
                if not is_not_there(error):
                    raise
                raise CloudError(
                    "the temporary queue is gone: a watch lasts a day at most; "
                    "announcements may be missing, so start again"
                ) from error
            screen.show(messages)
