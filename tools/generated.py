"""Files that a tool writes and nobody edits by hand, and the check that tells."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Files = Mapping[str, str]
"""Contents by path below a directory; a path has `/` on every system."""


def as_json(document: Any) -> str:
    """Return the text of a JSON file: one member a line, so that a change shows."""
    return json.dumps(document, indent=2) + "\n"


def write(files: Files, directory: Path) -> None:
    """Write the files below the directory."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Bytes, for a text file's line ends depend on the system.
        path.write_bytes(content.encode())


def drift(files: Files, directory: Path) -> list[Path]:
    """Return the files that are missing below the directory, or differ."""
    return [
        directory / name
        for name, content in files.items()
        if not (directory / name).is_file()
        or (directory / name).read_bytes() != content.encode()
    ]
