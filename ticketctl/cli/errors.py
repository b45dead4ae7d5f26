"""Errors that end a command with one line, and the exit statuses."""

from enum import IntEnum
from typing import ClassVar


class Status(IntEnum):
    """Exit statuses of every command; `ticketctl --help` explains them."""

    OK = 0
    PROBLEM = 1  # Typer and rich end with it, too, when the reader of a pipe is gone.
    USAGE = 2
    CLOUD = 3
    INTERRUPTED = 130  # As a shell reports Ctrl-C.


class ToolError(Exception):
    """A failure to show as its message, without a traceback."""

    status: ClassVar[Status] = Status.USAGE


class InputError(ToolError):
    """Invalid argument, option or file."""


class NotThereError(ToolError):
    """The ticket, key, queue or dead letter does not exist."""

    status = Status.PROBLEM


class CloudError(ToolError):
    """AWS cannot be reached, or rejects the call."""

    status = Status.CLOUD


class BusyError(CloudError):
    """All attempts met a conflict."""
