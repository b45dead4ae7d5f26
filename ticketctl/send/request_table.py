"""Reads requests for tickets from CSV: a header of field names, a ticket a row.

An empty cell means that the field is absent. `labels` are separated by semicolons;
`attributes` come as a JSON object in one cell, or as columns `attributes.NAME`.

Where quoting is broken, nobody can tell which of the lines behind it are rows and which
are the rest of a cell: such a file is refused, whatever may be skipped of others.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from typing import BinaryIO, Final

from ticket_numbering.errors import InvalidMessageError
from ticket_numbering.json_body import json_object
from ticket_numbering.messages import CreateTicket
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import visible
from ticketctl.send.request_lines import MAX_LINE_BYTES, Line
from ticketctl.system.contract import Fields

_ATTRIBUTES: Final = "attributes"
_PREFIX: Final = "attributes."
_LABELS: Final = "labels"
_NOT_UTF8: Final = re.compile("[\udc80-\udcff]")  # As `surrogateescape` reads it.
# A cell and the comma before it. No part can fail late, so that a line is read once.
_CELL: Final = re.compile(
    r'(?:\A|,)(?:(?P<late>[ \t]+")|"[^"]*(?:""[^"]*)*(?P<end>"?))?[^,]*'
)

Row = tuple[int, list[str]]
"""Of which line, and its cells."""


def table_rows(stream: BinaryIO, name: str) -> Iterator[Line]:
    """Read a row a ticket; rows without any cell ask for nothing.

    Args:
        stream: The file.
        name: What the file is called in errors.

    Raises:
        InputError: The header is not one of ours, or quoting is broken.
    """
    csv.field_size_limit(MAX_LINE_BYTES)
    # A row that is not UTF-8 must harm only itself.
    text = TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
    try:
        rows = (row for row in _rows(text, name) if row[1])
        columns = _header(next(rows, (1, [])), name)
        for number, cells in rows:
            yield _line(number, cells, columns)
    finally:
        text.detach()  # Whoever opened the stream closes it.


@dataclass
class _BoundedLines:
    """The lines of a table, of which a row takes no more than fit in memory."""

    text: TextIOWrapper
    left: int = MAX_LINE_BYTES
    """How many characters more the row may have."""
    quoted: bool = False
    """Whether the next line goes on inside a quoted cell."""

    def __iter__(self) -> "_BoundedLines":
        return self

    def __next__(self) -> str:
        line = self.text.readline(self.left + 1)
        self.left -= len(line)
        if self.left < 0:
            message = f"more than {MAX_LINE_BYTES} characters in one row"
            raise csv.Error(message)
        if not line:
            raise StopIteration
        self._follow_quotes(line)
        return line

    def _follow_quotes(self, line: str) -> None:
        # `csv` takes a quote behind blanks as text, and so cuts a cell of two lines.
        end = None
        for cell in _CELL.finditer(f'"{line}' if self.quoted else line):
            if cell["late"]:
                message = "a blank before a quote"
                raise csv.Error(message)
            end = cell["end"]
        self.quoted = end == ""


def _rows(text: TextIOWrapper, name: str) -> Iterator[Row]:
    lines = _BoundedLines(text)
    reader = csv.reader(lines, strict=True)
    while True:
        number = reader.line_num + 1
        lines.left = MAX_LINE_BYTES
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            why = f"not CSV from here on, so nothing is sent: {error}"
            message = f"{name}:{number}: {why}"
            raise InputError(message) from error
        yield number, cells if any(map(str.strip, cells)) else []


def _header(row: Row, name: str) -> list[str]:
    number, cells = row
    columns = [each.strip() for each in cells]
    for column in columns:
        own = column.startswith(_PREFIX) and column != _PREFIX
        twice = columns.count(column) > 1
        if twice or not (own or column in CreateTicket.model_fields):
            what = "stands twice" if twice else "is no field"
            known = f"{', '.join(CreateTicket.model_fields)} and attributes.NAME"
            shown = visible(column, 64) or "a nameless column"
            message = f"{name}:{number}: {shown}: {what}; the header may name {known}"
            raise InputError(message)
    return columns


def _line(number: int, cells: list[str], columns: Sequence[str]) -> Line:
    if len(cells) != len(columns):
        problem = f"body: {len(cells)} cells, but the header has {len(columns)}"
        return Line(number, {}, problem)
    if any(map(_NOT_UTF8.search, cells)):
        return Line(number, {}, "body: not UTF-8")
    try:
        return Line(number, _fields(dict(zip(columns, cells, strict=True))))
    except InvalidMessageError as error:
        return Line(number, {}, str(error))


def _fields(cells: dict[str, str]) -> Fields:
    fields: Fields = {name: cell for name, cell in cells.items() if cell}
    if _LABELS in fields:
        labels = [each.strip() for each in fields[_LABELS].split(";")]
        fields[_LABELS] = [each for each in labels if each]
    own = [each for each in fields if each.startswith(_PREFIX)]
    attributes = {each.removeprefix(_PREFIX): fields.pop(each) for each in own}
    if _ATTRIBUTES in fields:
        attributes = _merged(fields.pop(_ATTRIBUTES), attributes)
    return fields | ({_ATTRIBUTES: attributes} if attributes else {})


def _merged(cell: str, attributes: dict[str, str]) -> Fields:
    try:
        given = json_object(cell)
    except InvalidMessageError as error:
        message = f"attributes: {str(error).removeprefix('body: ')}"
        raise InvalidMessageError(message) from error
    if twice := given.keys() & attributes.keys():
        message = f"attributes: {visible(min(twice), 64)} stands in two cells"
        raise InvalidMessageError(message)
    return given | attributes
