"""Errors that end a command with one line, and the exit statuses."""

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
    """Ctrl-C, as a shell reports it."""


class ToolError(Exception):
    """A failure to show as its message, without a traceback."""

    status: ClassVar[Status] = Status.USAGE


class InputError(ToolError):
    """An argument, an option or a file makes no sense."""


class NotThereError(ToolError):
    """The ticket, key, queue or dead letter does not exist."""

    status = Status.FOUND


class CloudError(ToolError):
    """AWS cannot be reached, or refuses."""

    status = Status.CLOUD


class BusyError(CloudError):
    """Others were faster each time."""
