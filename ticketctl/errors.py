"""What a tool says when it cannot go on.

ToolError
+-- ArtifactError     the function's zip file cannot be built
+-- EmulatorError     the emulator cannot be started
+-- DeploymentError   the template cannot be deployed
+-- MessageFileError  a file of messages cannot be used
+-- SendError         SQS does not take a message
"""


class ToolError(Exception):
    """A failure to show as its message, without a traceback."""


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
