"""Files that a tool writes, and parts of pages between markers."""

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


def between(page: str, name: str, content: str) -> str:
    """Return a page with the content between the markers of a name.

    Raises:
        ValueError: The page lacks a marker.
    """
    begin, end = f"<!-- {name}: `make contracts` -->", f"<!-- end of {name} -->"
    before, begins, rest = page.partition(begin)
    _, ends, after = rest.partition(end)
    if not (begins and ends):
        raise ValueError(f"the page lacks {begin} or {end}")
    return f"{before}{begin}\n\n{content}\n\n{end}{after}"
