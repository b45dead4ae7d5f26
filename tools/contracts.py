"""Writes and checks the documents of the wire contracts.

Three JSON Schemas and an AsyncAPI document: for people and tools that send
create-ticket messages or subscribe to announcements.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]

# The function is not installed here as a package: what ships is the folder.
sys.path.insert(0, str(ROOT / "src"))

from tools import asyncapi, generated, schemas  # noqa: E402 - needs the path above

DIRECTORY: Final = ROOT / "docs"


def documents() -> dict[str, str]:
    """Return the text of every document, by its path below the directory."""
    return {
        name: generated.as_json(document)
        for name, document in {
            "schemas/create-ticket.schema.json": schemas.create_ticket(),
            "schemas/ticket-number-assigned.schema.json": (
                schemas.ticket_number_assigned()
            ),
            "schemas/ticket-voided.schema.json": schemas.ticket_voided(),
            "asyncapi.json": asyncapi.document(schemas.components()),
        }.items()
    }


def write(directory: Path = DIRECTORY) -> None:
    """Write the documents below the directory."""
    generated.write(documents(), directory)


def drift(directory: Path = DIRECTORY) -> list[Path]:
    """Return the documents below the directory that are not what the models say."""
    return generated.drift(documents(), directory)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the documents, or check them."""
    parser = argparse.ArgumentParser("python -m tools.contracts")
    parser.add_argument("directory", nargs="?", type=Path, default=DIRECTORY)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    given = parser.parse_args(arguments)
    if not given.check:
        write(given.directory)
    elif stale := drift(given.directory):
        names = ", ".join(os.path.relpath(path) for path in stale)
        sys.exit(f"{names}: not what the models say; run `make contracts`")


if __name__ == "__main__":
    main()
