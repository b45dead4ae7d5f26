"""Files that are there whole, or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ticketctl.cli.errors import InputError


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file that gets its name at the end, if the block comes to its end.

    It is written beside its place, with rights for its owner alone, because it may hold
    whole requests, and is on the disk before it has the name.

    Raises:
        InputError: The name is taken, or the file cannot be written.
    """
    try:
        _refuse_taken(path)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 - no path.
                yield file
                file.flush()
                os.fsync(descriptor)
            _refuse_taken(path)  # Another command may have been quicker.
            Path(name).rename(path)
        finally:
            with suppress(FileNotFoundError):
                Path(name).unlink()
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error


def _refuse_taken(path: Path) -> None:
    if path.exists():
        raise InputError(f"{path} exists; name another file, or remove it")
