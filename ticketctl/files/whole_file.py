"""Writes files that are complete or absent."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from ticketctl.cli.errors import InputError
from ticketctl.cli.output import json_line, print_json_line


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file that gets its name at the end of a successful block.

    It is written in the same folder, readable only by its owner because it may have
    whole requests, and is synced before it gets the name.

    Raises:
        InputError: The name is taken, or the file cannot be written.
    """
    try:
        _reject_taken(path)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 - no path.
                yield file
                file.flush()
                os.fsync(descriptor)
            _reject_taken(path)  # Another command may have been faster.
            Path(name).rename(path)
        finally:
            with suppress(FileNotFoundError):
                Path(name).unlink()
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def writing(save: Path | None) -> Iterator[Callable[[Any], object]]:
    """Yield a function that writes a line of JSON, to a whole file or the output.

    Raises:
        InputError: See `whole_file`.
    """
    if save is None:
        yield print_json_line
        return
    with whole_file(save) as file:
        yield lambda value: file.write(json_line(value))


def so_far(save: Path | None, printed: str) -> str:
    """Return a note about an interrupted output, which else looks complete."""
    return f"NOT WHOLE: {f'{save} is not written' if save else printed}"


def _reject_taken(path: Path) -> None:
    if path.exists():
        raise InputError(f"{path} exists; name another file, or remove it")
