"""Reads the lines of a file of requests, JSONL or CSV, one after the other."""

import csv
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal

from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.contract.json_body import json_object
from ticketctl.aws.request_fields import Fields
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import remark, visible
from ticketctl.files.csv_columns import Columns

Format = Literal["jsonl", "csv"]

STANDARD_INPUT: Final = "-"
MOST_PROBLEMS: Final = 20
"""Bad lines that are named; the others are counted, so that a screen shows all."""


@dataclass(frozen=True)
class Line:
    """The fields of a line, or the reason why it cannot be read."""

    number: int
    """The first is 1; of a CSV row of several lines, the first one's."""
    fields: Fields
    problem: str | None = None


@dataclass
class Problems:
    """Prints the first problems of a file's lines, and counts all."""

    file: str
    number: int = 0

    def add(self, line: int, why: str) -> None:
        """Add a problem."""
        self.number += 1
        if self.number <= MOST_PROBLEMS:
            remark(f"{shown_name(self.file)}:{line}: {visible(why)}")

    def end(self) -> None:
        """Print how many were not named."""
        if self.number > MOST_PROBLEMS:
            remark(f"and {self.number - MOST_PROBLEMS} more")


def shown_name(path: str) -> str:
    """Return a file's name for remarks."""
    return "standard input" if path == STANDARD_INPUT else visible(path)


@contextmanager
def open_lines(
    path: str, file_format: Format | None = None, columns: Columns | None = None
) -> Iterator[Iterator[Line]]:
    """Open a file, or standard input, and give its lines as they are read.

    The file's suffix says the format if none is given. Without `columns`, those of CSV
    are the fields of a create-ticket message.

    Raises:
        InputError: It cannot be read; its lines raise it if they are not UTF-8, or
            if its CSV is broken.
    """
    if path == STANDARD_INPUT:
        yield _lines(path, sys.stdin.buffer, file_format, columns)
        return
    try:
        content = Path(path).open("rb")  # noqa: SIM115 - closed below.
    except OSError as error:
        raise InputError(
            f"{shown_name(path)}: cannot be read: {error.strerror}"
        ) from error
    with content:
        yield _lines(path, content, file_format, columns)


def _lines(
    path: str, content: BinaryIO, file_format: Format | None, columns: Columns | None
) -> Iterator[Line]:
    texts = _texts(path, content)
    if (file_format or Path(path).suffix.lower().removeprefix(".")) == "csv":
        return _rows(path, texts, columns or Columns())
    if columns and columns.mapping:
        raise InputError(f"{shown_name(path)}: --map is for CSV; see --format")
    return json_lines(texts)


def _texts(path: str, content: BinaryIO) -> Iterator[str]:
    for number, line in enumerate(content, 1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{shown_name(path)}:{number}: not UTF-8") from error
        yield text


def json_lines(texts: Iterable[str]) -> Iterator[Line]:
    """Read a JSON object a line; blank lines ask for nothing."""
    for number, text in enumerate(texts, 1):
        if text.strip():
            yield _json_line(number, text.removesuffix("\n"))


def _json_line(number: int, text: str) -> Line:
    try:
        return Line(number, json_object(text))
    except InvalidMessageError as error:
        return Line(number, {}, str(error))


def _rows(path: str, texts: Iterator[str], columns: Columns) -> Iterator[Line]:
    """Read a header, and a ticket a row; empty rows ask for nothing."""
    reader = csv.reader(texts, strict=True)
    try:
        names = columns.fields_of(next(reader, []))
        first = reader.line_num + 1
        for cells in reader:
            number, first = first, reader.line_num + 1
            if cells and len(cells) != len(names):
                problem = f"not as many cells as the header has ({len(names)})"
                yield Line(number, {}, f"body: {problem}")
            elif fields := columns.values_of(names, cells):
                yield Line(number, fields)
    except csv.Error as error:
        raise InputError(
            f"{shown_name(path)}: not CSV as it must be: {error}"
        ) from error
