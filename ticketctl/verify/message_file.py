"""Reads create-ticket messages from a file: a JSON object a line."""

import json
import re
from pathlib import Path

from ticketctl.cli.errors import InputError
from ticketctl.system.queues import MAX_MESSAGE_BYTES

# SendMessage: the characters that a message may hold.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_messages(path: Path) -> list[str]:
    """Return the message bodies, one for each line that is not blank.

    Only the form is checked here: whether an object is a valid message is for the
    worker to say.

    Raises:
        InputError: The file cannot be read, is empty, or a line is no JSON
            object.
    """
    try:
        # Only "\n" ends a line: JSON text may hold other line separators as they are.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        message = f"{path}: cannot be read: {reason}"
        raise InputError(message) from error
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered:
        message = f"{path}: holds no message"
        raise InputError(message)
    for number, line in numbered:
        if problem := _problem(line):
            message = f"{path}, line {number}: {problem}"
            raise InputError(message)
    return [line for _, line in numbered]


def _problem(line: str) -> str | None:
    if len(line.encode()) > MAX_MESSAGE_BYTES:
        return f"longer than the {MAX_MESSAGE_BYTES} bytes that SQS takes"
    try:
        message = json.loads(line)
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at column {error.colno}"
    except (ValueError, RecursionError):
        return "not JSON that can be read: a number too long, or nested too deeply"
    if found := _FORBIDDEN.search(line):
        return f"SQS does not take the character U+{ord(found[0]):04X}"
    return None if isinstance(message, dict) else "not a JSON object"
