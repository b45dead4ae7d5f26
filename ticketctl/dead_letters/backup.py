"""A backup of dead letters in a file."""

import base64
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ticketctl.cli.errors import InputError
from ticketctl.dead_letters.dead_letter import DeadLetter


def save(letters: Sequence[DeadLetter], path: Path) -> None:
    """Write a line of JSON for each dead letter into a new file, and to the disk.

    Raises:
        InputError: The file exists, or cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(json.dumps(as_json(letter)) + "\n" for letter in letters)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(
            f"cannot write {path} ({error.strerror}); nothing was deleted"
        ) from error


def as_json(letter: DeadLetter) -> dict[str, Any]:
    """Return all of a dead letter; binary attributes as Base64, as Lambda has them."""
    return {
        "message_id": letter.message_id,
        "body": letter.body,
        "attributes": {
            name: {part: _text(value) for part, value in attribute.items()}
            for name, attribute in letter.attributes.items()
        },
        "system_attributes": dict(letter.system),
    }


def _text(value: str | bytes) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
