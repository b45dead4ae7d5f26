"""Reads the lines of a file of requests, JSONL or CSV.

In CSV an empty cell means that the field is absent. Labels are separated by semicolons,
and attributes are columns named `attributes.NAME`.
"""

import csv
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.contract.json_body import MAX_DIGITS, json_object
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.request_fields import Fields
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import visible

Format = Literal["jsonl", "csv"]

STANDARD_INPUT: Final = "-"

_ATTRIBUTE: Final = "attributes."
_COLUMNS: Final = frozenset(CreateTicket.model_fields) - {"attributes"}


@dataclass(frozen=True)
class Line:
    """The fields of a line, or the reason why it cannot be read."""

    number: int
    """The first is 1; of a CSV row of several lines, the last one's."""
    fields: Fields
    problem: str | None = None


def shown_name(path: str) -> str:
    """Return a file's name for remarks."""
    return "standard input" if path == STANDARD_INPUT else visible(path)


def read_lines(path: str, file_format: Format | None = None) -> list[Line]:
    """Read a file, or standard input; its suffix is the default of the format.

    Raises:
        InputError: It cannot be read, is not UTF-8, or its CSV is broken.
    """
    text = _text(path)
    if (file_format or Path(path).suffix.lower().removeprefix(".")) != "csv":
        return list(json_lines(text))
    try:
        return list(_rows(text))
    except (csv.Error, InputError) as error:
        raise InputError(
            f"{shown_name(path)}: not CSV as it must be: {error}"
        ) from error


def json_lines(text: str) -> Iterator[Line]:
    """Read a JSON object a line; blank lines ask for nothing."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _json_line(number, line)


def _text(path: str) -> str:
    is_file, content = path != STANDARD_INPUT, b""
    try:
        content = Path(path).read_bytes() if is_file else sys.stdin.buffer.read()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(
            f"{shown_name(path)}: cannot be read: {error.strerror}"
        ) from error
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{shown_name(path)}:{number}: not UTF-8") from error


def _json_line(number: int, line: str) -> Line:
    try:
        return Line(number, json_object(line))
    except InvalidMessageError as error:
        return Line(number, {}, str(error))


def _rows(text: str) -> Iterator[Line]:
    """Read a header of field names and a ticket a row; empty rows ask for nothing."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    columns = reader.fieldnames or []
    for column in columns:
        if column not in _COLUMNS and not column.startswith(_ATTRIBUTE):
            raise InputError(
                f"no field {visible(column, 64)!r}; the header may name "
                f"{', '.join(sorted(_COLUMNS))} and attributes.NAME"
            )
    if len({*columns}) < len(columns):
        raise InputError("the header names a field twice")
    for row in reader:
        if None in row or None in row.values():
            problem = f"body: not as many cells as the header has ({len(columns)})"
            yield Line(reader.line_num, {}, problem)
        elif fields := _fields(row):
            yield Line(reader.line_num, fields)


def _fields(row: dict[str, str]) -> Fields:
    cells = {name: cell for name, cell in row.items() if cell}
    attributes = {
        name.removeprefix(_ATTRIBUTE): cells.pop(name)
        for name in row.keys() & cells.keys()
        if name.startswith(_ATTRIBUTE)
    }
    fields: Fields = dict(cells)
    if "labels" in fields:
        labels = (label.strip() for label in cells["labels"].split(";"))
        fields["labels"] = [label for label in labels if label]
    cap = cells.get("max_number", "")
    if cap.isdecimal() and len(cap) <= MAX_DIGITS:
        fields["max_number"] = int(cap)
    return fields | ({"attributes": attributes} if attributes else {})
