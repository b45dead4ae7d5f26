"""Errors that end a command with one line, and the exit statuses."""

from enum import IntEnum
from typing import ClassVar


class Status(IntEnum):
    """Exit statuses of every command."""

    OK = 0
    FOUND = 1
    """Done, but something was wrong or not found; or nobody read all of the output.

    Typer and rich end with it when the reader of a pipe is gone.
    """
    USAGE = 2
    """Not done: a wrong option or file, or something is missing on this machine."""
    CLOUD = 3
    """Not done: AWS cannot be reached, or refuses: for credentials or rights, say."""
    INTERRUPTED = 130
    """Ctrl-C, as a shell reports it."""


class ToolError(Exception):
    """A failure to show as its message, without a traceback."""

    status: ClassVar[Status] = Status.USAGE


class InputError(ToolError):
    """Invalid argument, option or file."""


class NotThereError(ToolError):
    """The ticket, key, queue or dead letter does not exist."""

    status = Status.FOUND


class CloudError(ToolError):
    """AWS cannot be reached, or refuses."""

    status = Status.CLOUD


class BusyError(CloudError):
    """All attempts met a conflict."""
