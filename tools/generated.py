"""Writes generated files."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def as_json(document: Any) -> str:
    """Return the text of a JSON file: one member a line, so that a change shows."""
    return json.dumps(document, indent=2) + "\n"


def table(rows: Iterable[Iterable[str]]) -> str:
    """Return rows as a table of a page; the first row has the headings."""
    heads, *others = (
        f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in row)}|" for row in rows
    )
    line = f"|{' --- |' * (heads.count('|') - 1)}"
    return "\n".join(["\n", heads, line, *others, "\n"])


def write(files: Mapping[str, str], directory: Path) -> None:
    """Write texts to files, by their path below a directory."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Bytes, because line ends of text files depend on the system.
        path.write_bytes(content.encode())
