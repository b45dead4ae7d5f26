"""Reads create-ticket messages from a file: a JSON object a line."""

import json
from pathlib import Path

from ticketctl.cli.errors import InputError


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
        raise InputError(f"{path}: cannot be read: {reason}") from error
    for number, line in enumerate(lines, 1):
        if line.strip() and not _is_object(line):
            raise InputError(f"{path}, line {number}: not a JSON object")
    if messages := [line for line in lines if line.strip()]:
        return messages
    raise InputError(f"{path}: holds no message")


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
