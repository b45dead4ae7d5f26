"""What a command says when it cannot go on, and the status that it ends with.

ToolError            a file or this machine is not as it must be
+-- InputError       what was asked for makes no sense
+-- NotThereError    what was asked for does not exist
+-- CloudError       AWS cannot be reached, or refuses
    +-- BusyError    others were faster each time
"""

from enum import IntEnum
from typing import ClassVar


class Status(IntEnum):
    """Exit statuses of every command."""

    OK = 0
    FOUND = 1
    """Done, and something is wrong with what was looked at, or is not there."""
    USAGE = 2
    """Not done: an option, a file or this machine is not as it must be."""
    CLOUD = 3
    """Not done: AWS cannot be reached, or refuses: for credentials or rights, say."""
    INTERRUPTED = 130
    """Somebody pressed Ctrl-C; as a shell reports it."""


class ToolError(Exception):
    """A failure to show as its message, without a traceback."""

    status: ClassVar[Status] = Status.USAGE


class InputError(ToolError):
    """What was asked for makes no sense."""


class NotThereError(ToolError):
    """What was asked for does not exist."""

    status = Status.FOUND


class CloudError(ToolError):
    """AWS cannot be reached, or refuses."""

    status = Status.CLOUD


class BusyError(CloudError):
    """Others were faster each time."""
