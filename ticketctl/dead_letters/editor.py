"""Lets a person edit a text in the editor of their choice."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from ticketctl.cli.errors import InputError
from ticketctl.cli.output import notes
from ticketctl.cli.prompts import is_interactive

_DEFAULT_EDITOR: Final = "vi"


def editor() -> list[str]:
    """Return the command line of the person's editor.

    Raises:
        InputError: There is none.
    """
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not chosen and not is_interactive():
        message = "no terminal to edit at; give the new body with --file"
        raise InputError(message)
    try:
        command = shlex.split(chosen or _DEFAULT_EDITOR)
    except ValueError:
        command = []
    if not command or shutil.which(command[0]) is None:
        message = (
            f"no editor {chosen or _DEFAULT_EDITOR}; "
            "set EDITOR, or give the new body with --file"
        )
        raise InputError(message)
    return command


@contextmanager
def text_file(text: str) -> Iterator[Path]:
    """Make a file that only its owner reads; if the block fails, it stays."""
    path = _new_file(text.encode())
    try:
        yield path
    except BaseException:
        notes().print(f"your text is kept in {path}", markup=False)
        raise
    path.unlink(missing_ok=True)


def _new_file(content: bytes) -> Path:
    with NamedTemporaryFile(suffix=".json", delete=False) as file:
        path = Path(file.name)
        try:
            file.write(content)
            # The disk may be full, and only this tells.
            file.flush()
        except BaseException:
            path.unlink()
            raise
    return path


def edit(command: Sequence[str], path: Path) -> str:
    """Let a person edit a file, and return its text.

    Raises:
        InputError: The editor fails, or leaves no text behind.
    """
    # Ctrl-C is the editor's business; unlike "ignore", it does not inherit a function.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        # The person's own command.
        ended = subprocess.run([*command, str(path)], check=False)  # noqa: S603 - above.
    finally:
        signal.signal(signal.SIGINT, before)
    if ended.returncode:
        message = f"{command[0]} ended with status {ended.returncode}; nothing is sent"
        raise InputError(message)
    return text_of(path)


def text_of(path: Path) -> str:
    """Return the text of a file; `-` is the standard input.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    try:
        read = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return read.decode()
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise InputError(message) from error
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8"
        raise InputError(message) from error
