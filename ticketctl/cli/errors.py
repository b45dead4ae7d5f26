"""What a tool says when it cannot go on, and the status that it ends with.

ToolError
+-- ArtifactError     the function's zip file cannot be built
+-- EmulatorError     the emulator cannot be started
+-- DeploymentError   the template cannot be deployed
+-- MessageFileError  a file of messages cannot be used
+-- SendError         SQS does not take a message
+-- InputError        what was asked for makes no sense
+-- OutputError       what came of it cannot be written
+-- NotThereError     what was asked for does not exist
+-- RedriveError      dead letters are left that were to be sent back or deleted
+-- CloudError        AWS cannot be reached, or refuses
    +-- StackError    there is no such stack, or it is not one of ours
    +-- BusyError     others were faster each time
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


class ArtifactError(ToolError):
    """The artifact cannot be built."""


class EmulatorError(ToolError):
    """The emulator cannot be started."""


class DeploymentError(ToolError):
    """The template cannot be deployed."""


class MessageFileError(ToolError):
    """A file of messages cannot be used."""


class SendError(ToolError):
    """SQS does not take a message."""

    status = Status.CLOUD


class InputError(ToolError):
    """What was asked for makes no sense."""


class OutputError(ToolError):
    """What came of it cannot be written, though it may be done."""

    status = Status.FOUND


class NotThereError(ToolError):
    """What was asked for does not exist."""

    status = Status.FOUND


class RedriveError(ToolError):
    """Dead letters are left that were to be sent back or deleted."""

    status = Status.CLOUD


class CloudError(ToolError):
    """AWS cannot be reached, or refuses."""

    status = Status.CLOUD


class StackError(CloudError):
    """There is no such stack, or it is not one of ours."""


class BusyError(CloudError):
    """Others were faster each time."""
