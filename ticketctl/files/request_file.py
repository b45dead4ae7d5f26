"""Reads the lines of a file of requests, JSONL or CSV, one after the other."""

import codecs
import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Final, Literal

from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.contract.json_body import json_object
from ticketctl.aws.request_fields import Fields
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import counted, remark, visible
from ticketctl.files.csv_columns import Columns

Format = Literal["jsonl", "csv"]

STANDARD_INPUT: Final = "-"

_UTF_16_MARKS: Final = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
_MAX_CELL: Final = 2**31 - 1
"""Any size, because a field has its own bound; the library takes a C long."""

_SEPARATORS: Final = ",;\t"
_DECLARED: Final = re.compile(r'"?sep=([^"\r\n])"?[;,\t]*\r?\n', re.IGNORECASE)
"""The first line with which Excel writes and reads the separator."""
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
    path: str,
    file_format: Format | None = None,
    columns: Columns | None = None,
    encoding: str | None = None,
) -> Iterator[Iterator[Line]]:
    """Open a file, or standard input, and give its lines as they are read.

    The file's suffix says the format if none is given. Without `columns`, those of CSV
    are the fields of a create-ticket message. The default encoding is UTF-8.

    Raises:
        InputError: It cannot be read; its lines raise it if they have another
            encoding, or if its CSV is broken.
    """
    with ExitStack() as opened:
        try:
            content = (
                sys.stdin.buffer
                if path == STANDARD_INPUT
                else opened.enter_context(Path(path).open("rb"))
            )
            text = io.TextIOWrapper(content, encoding or "utf-8", newline="\n")
        except OSError as error:
            raise InputError(
                f"{shown_name(path)}: cannot be read: {error.strerror}"
            ) from error
        except LookupError as error:
            raise InputError(f"--encoding: unknown: {encoding!r}") from error
        opened.callback(text.detach)  # It would close standard input.
        yield _lines(path, _texts(path, text, encoding), file_format, columns)


def _lines(
    path: str, texts: Iterator[str], file_format: Format | None, columns: Columns | None
) -> Iterator[Line]:
    if (file_format or Path(path).suffix.lower()[1:]) in {"csv", "tsv"}:
        return _rows(path, texts, columns or Columns())
    if columns and columns.mapping:
        raise InputError(f"{shown_name(path)}: --map is for CSV; see --format")
    return json_lines(_objects(path, texts))


def _texts(path: str, content: Iterable[str], encoding: str | None) -> Iterator[str]:
    number = 0
    try:
        for text in content:
            yield text if number else text.removeprefix("\ufeff")
            number += 1
    except UnicodeError as error:
        line, remedy = number + 1, ""
        if isinstance(error, UnicodeDecodeError):
            line += error.object[: error.start].count(b"\n")
            if error.object.startswith(_UTF_16_MARKS):
                remedy = ", but UTF-16 by its mark: say --encoding utf-16"
            elif not encoding:
                remedy = "; --encoding reads others, such as cp1252 or latin-1"
        raise InputError(
            f"{shown_name(path)}:{line}: not {encoding or 'UTF-8'}{remedy}"
        ) from error


def _objects(path: str, texts: Iterator[str]) -> Iterator[str]:
    """Refuse JSON that is not an object a line by how it begins."""
    begin: list[str] = []
    for text in texts:
        begin.append(text)
        if text.strip():
            break
    found = "".join(begin).strip()
    is_part = found == "{" or (found.startswith("{") and found.endswith(","))
    if is_part or found.startswith("["):
        command = "jq -c ." if is_part else "jq -c '.[]'"
        if path != STANDARD_INPUT:
            command += f" {visible(quote(path))}"
        within = " (for a list within an object '.NAME[]')" if is_part else ""
        raise InputError(
            f"{shown_name(path)}: not a JSON object a line, as this makes it: "
            f"{command}{within}"
        )
    yield from chain(begin, texts)


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


class _Table:
    """The lines of a table, and how many were read."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._texts = texts
        self.number = 0
        self.last = ""
        self.separator = ","

    def __iter__(self) -> "_Table":
        return self

    def __next__(self) -> str:
        self.last = next(self._texts)
        self.number += 1
        return self.last


def _rows(path: str, texts: Iterator[str], columns: Columns) -> Iterator[Line]:
    """Read a header, and a ticket a row; empty rows ask for nothing."""
    csv.field_size_limit(_MAX_CELL)
    table, begin, short = _Table(texts), 1, 0
    try:
        reader = _reader(table, columns)
        names = columns.fields_of(next(reader, []))
        needed = max((at for at, filled in enumerate(names, 1) if filled), default=0)
        begin = table.number + 1
        for cells in reader:
            number, begin = begin, table.number + 1
            # A file that was cut can end within a cell, but not behind a quote.
            may_be_cut = len(cells) == needed and table.last[-1] not in '"\n'
            if cells and len(cells) != len(names):
                if may_be_cut or not needed <= len(cells) < len(names):
                    problem = f"not as many cells as the header has ({len(names)})"
                    if may_be_cut:
                        problem += "; if the file is not cut, end its last line"
                    yield Line(number, {}, f"body: {problem}")
                    continue
                short += 1
            if fields := columns.values_of(names, cells):
                yield Line(number, fields)
    except csv.Error as error:
        raise InputError(
            f"{shown_name(path)}:{begin}: not CSV as it must be, separated by "
            f"{table.separator!r}: {error}"
        ) from error
    if short:
        rows = counted(short, "row")
        remark(f"{shown_name(path)}: {rows} without last cells that no --map names")


def _reader(table: _Table, columns: Columns) -> Iterator[list[str]]:
    """Return the rows, separated as is declared, or as the header fits best."""
    header = next((text for text in table if text.strip()), "")
    if declared := _DECLARED.fullmatch(header):
        table.separator, header = declared[1], next(table, "")
    while header.count('"') % 2 and (text := next(table, "")):
        header += text
    if not declared:
        table.separator = max(_SEPARATORS, key=lambda one: _fit(header, one, columns))
    lines = chain(io.StringIO(header, newline="\n"), table)
    return csv.reader(lines, delimiter=table.separator, strict=True)


def _fit(header: str, separator: str, columns: Columns) -> tuple[int, int]:
    """Count the columns that hold a field, and all of them."""
    lines = io.StringIO(header, newline="\n")
    names = next(csv.reader(lines, delimiter=separator), [])
    return sum(map(columns.has, names)), len(names)
