"""Opens a file of text, names any other kind of file, and the problems of its lines."""

import codecs
import io
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ticket_numbering.contract.values import MAX_NUMBER
from ticketctl.aws.request_fields import Fields
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import print_note, sanitized

STANDARD_INPUT: Final = "-"

NUMBERS: Final = {"max_number", "number"}
"""The fields of whole numbers, which a file may have as texts."""

_WHOLE: Final = re.compile(rf"0*([0-9]{{1,{len(str(MAX_NUMBER))}}})(?:\.0)?")
_NAME_WIDTH: Final = 64

MOST_PROBLEMS: Final = 20
"""The invalid lines that are printed; the others are counted."""

_UTF_16_MARKS: Final = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
_FIRST_BYTES: Final = {
    b"\x1f\x8b": "compressed with gzip; uncompress it first: gunzip -k FILE",
    b"PK\x03\x04": "a zip file or a workbook (.xlsx); save the sheet as CSV UTF-8",
    b"\xd0\xcf\x11\xe0": "a workbook (.xls); save the sheet as CSV UTF-8",
}
_IN_COLOUR: Final = re.compile(r"\x1b\[[\d;]*m")


@dataclass(frozen=True)
class Line:
    """The fields of a line, or the reason why it cannot be read."""

    number: int
    """The line's number from 1; for a CSV row of several lines that of the first."""
    fields: Fields
    problem: str | None = None


@dataclass
class Problems:
    """Prints the first problems of a file's lines, and counts all of them."""

    file: str
    number: int = 0

    def add(self, line: int, why: str) -> None:
        """Add a problem."""
        self.number += 1
        if self.number <= MOST_PROBLEMS:
            print_note(f"{shown_name(self.file)}:{line}: {sanitized(why)}")

    def end(self, consequence: str = "") -> None:
        """Print the count of the other problems; end with the consequence, if any.

        Raises:
            InputError: The file has a problem with a consequence.
        """
        if self.number > MOST_PROBLEMS:
            print_note(f"and {self.number - MOST_PROBLEMS} more")
        if self.number and consequence:
            name = shown_name(self.file)
            raise InputError(f"{name}: bad lines: {self.number}{consequence}")


def shown_name(path: str) -> str:
    """Return a file's name for notes."""
    return "standard input" if path == STANDARD_INPUT else sanitized(path)


def quoted(value: Any) -> str:
    """Return a value or a name of a file for a note."""
    return sanitized(repr(value), _NAME_WIDTH)


def whole(value: Any) -> Any:
    """Convert a text of digits, also `007` or `12.0`, to a number; else return it.

    Spreadsheets write 12.0 in a column of numbers with an empty cell.
    """
    match = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match else value


@contextmanager
def open_texts(path: str, encoding: str | None = None) -> Iterator[Iterator[str]]:
    """Open a file, or standard input, and yield its lines as they are read.

    The default encoding is UTF-8, with or without a mark.

    Raises:
        InputError: The file cannot be read, or is of another kind; its lines raise it
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
    """Return the problem of the whole file, by its first line."""
    if "\0" in first:
        return (
            f"looks like UTF-16 without a mark; {_converted('utf-16-le', ', or -be')}"
        )
    if "\r" in first and not first.endswith("\n"):
        return "its lines end with CR alone; convert them: tr '\\r' '\\n'"
    if _IN_COLOUR.search(first):
        return "it has the colours of a terminal; write it without, like jq -M"
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
