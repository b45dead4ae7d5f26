"""Opens a file of text, and names the kind of any other file."""

import codecs
import io
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from ticketctl.cli.errors import InputError
from ticketctl.cli.output import print_note
from ticketctl.files.lines import STANDARD_INPUT, shown_name

_UTF_16_MARKS: Final = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
_FIRST_BYTES: Final = {
    b"\x1f\x8b": "compressed with gzip; uncompress it first: gunzip -k FILE",
    b"PK\x03\x04": "a zip file or a workbook (.xlsx); save the sheet as CSV UTF-8",
    b"\xd0\xcf\x11\xe0": "a workbook (.xls); save the sheet as CSV UTF-8",
}
_IN_COLOUR: Final = re.compile(r"\x1b\[[\d;]*m")


@contextmanager
def open_texts(path: str, encoding: str | None = None) -> Iterator[Iterator[str]]:
    """Open a file, or standard input, and give its lines as they are read.

    The default encoding is UTF-8, with or without a mark.

    Raises:
        InputError: It cannot be read, or is another kind of file; its lines raise it
            if they have another encoding.
    """
    with ExitStack() as opened:
        try:
            content: io.BufferedReader = (
                sys.stdin.buffer  # type: ignore[assignment]
                if path == STANDARD_INPUT
                else opened.enter_context(Path(path).open("rb"))
            )
            first = content.peek(4)
            text = io.TextIOWrapper(content, encoding or "utf-8", newline="\n")
        except OSError as error:
            raise InputError(
                f"{shown_name(path)}: cannot be read: {error.strerror}"
            ) from error
        except LookupError as error:
            raise InputError(f"--encoding: unknown: {encoding!r}") from error
        opened.callback(text.detach)  # It would close standard input.
        for start, kind in _FIRST_BYTES.items():
            if first.startswith(start):
                raise InputError(f"{shown_name(path)}: {kind}")
        yield _texts(path, text, encoding)


def _texts(path: str, content: Iterable[str], encoding: str | None) -> Iterator[str]:
    number, text = 0, "\n"
    try:
        for text in content:
            if not number and (problem := _problem_of(text)):
                raise InputError(f"{shown_name(path)}: {problem}")
            yield text if number else text.removeprefix("\ufeff")
            number += 1
        if not text.endswith("\n"):
            name = shown_name(path)
            print_note(
                f"{name}: the last line has no line break: is the file complete?"
            )
    except UnicodeError as error:
        line = number + 1
        if isinstance(error, UnicodeDecodeError):
            line += error.object[: error.start].count(b"\n")
        problem = f"not {encoding or 'UTF-8'}{_remedy(error, encoding)}"
        raise InputError(f"{shown_name(path)}:{line}: {problem}") from error


def _problem_of(first: str) -> str | None:
    """Return what the first line shows to be wrong with all."""
    if "\0" in first:
        return (
            f"looks like UTF-16 without a mark; {_converted('utf-16-le', ', or -be')}"
        )
    if "\r" in first and not first.endswith("\n"):
        return "its lines end with CR alone, which this mends: tr '\\r' '\\n'"
    if _IN_COLOUR.search(first):
        return "in colours, which a terminal shows; write it without, as jq -M does"
    return None


def _remedy(error: UnicodeError, encoding: str | None) -> str:
    content = error.object if isinstance(error, UnicodeDecodeError) else b""
    if content.startswith(_UTF_16_MARKS):
        return f", but UTF-16 by its mark; {_converted('utf-16')}"
    if b"\0" in content[:2]:
        return (
            f"; looks like UTF-16 without a mark; {_converted('utf-16-le', ', or -be')}"
        )
    return "" if encoding else f"; {_converted('cp1252', ', latin-1 or others')}"


def _converted(encoding: str, others: str = "") -> str:
    return f"ticketctl convert reads it with --encoding {encoding}{others}"
