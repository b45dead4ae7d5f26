"""Copies of letters in a file, from which they could be made again."""

import base64
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ticketctl.cli.errors import InputError
from ticketctl.dead_letters.letters import Letter


def copy(letter: Letter) -> dict[str, Any]:
    """Return what it takes to make the letter again."""
    return {
        "message_id": letter.message_id,
        "body": letter.body,
        "attributes": {
            name: {part: _json_value(value[part]) for part in value}
            for name, value in letter.attributes.items()
        },
        "system_attributes": dict(letter.system),
    }


def save(letters: Sequence[Letter], path: Path) -> None:
    """Write a line of JSON for each letter into a new file, and to the disk.

    Raises:
        InputError: The file is there already, or cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            for each in letters:
                file.write(json.dumps(copy(each), ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError as error:
        message = f"{path} is there already; give --save a new name"
        raise InputError(message) from error
    except OSError as error:
        message = f"cannot write {path} ({error.strerror}); nothing is deleted"
        raise InputError(message) from error


def _json_value(value: Any) -> str:
    """Return an attribute's value; bytes as Base64, as Lambda delivers them."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
