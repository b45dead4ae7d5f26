"""Files that a tool writes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def as_json(document: Any) -> str:
    """Return the text of a JSON file: one member a line, so that a change shows."""
    return json.dumps(document, indent=2) + "\n"


def write(files: Mapping[str, str], directory: Path) -> None:
    """Write texts to files, by their path below a directory."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Bytes, for a text file's line ends depend on the system.
        path.write_bytes(content.encode())
