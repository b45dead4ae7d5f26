"""Reads the rows of CSV files of other programs."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

from ticketctl.cli.errors import InputError
from ticketctl.cli.output import counted
from ticketctl.convert.columns import Columns, column_name
from ticketctl.files.lines import Line, shown_name

_MAX_CELL: Final = 2**31 - 1
"""The library's maximum, a C long, because each field has its own bound."""

_SEPARATORS: Final = ",;\t"
_DECLARED: Final = re.compile(r'"?sep=([^"\r\n])"?[;,\t]*\r?\n', re.IGNORECASE)
"""The first line in which Excel declares the separator."""

_TELLING: Final = frozenset({"key", "number", "title"})

_MAX_HEADER: Final = 100
"""The maximum of lines of a header; a stray quote would never end it."""


class _Table(Iterator[str]):
    """The lines of a table, and the count of read lines."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._texts, self.separator = texts, ","
        self.number, self.last = 0, ""

    def __next__(self) -> str:
        self.last = next(self._texts)
        self.number += 1
        return self.last

    def put_back(self, lines: Sequence[str]) -> None:
        """Return the last lines, to be read again."""
        self._texts = chain(lines, self._texts)
        self.number -= len(lines)


def rows_of(
    path: str, texts: Iterator[str], columns: Columns, short: Callable[[int], None]
) -> Iterator[Line]:
    """Read a header, then a ticket from each row; skip empty rows.

    A row may lack cells after its number and its title, because some programs leave out
    empty cells; `short` is called with its line.

    Raises:
        InputError: The file is no CSV, or its columns do not fit.
    """
    csv.field_size_limit(_MAX_CELL)
    table, begin = _Table(texts), 1
    try:
        reader = _reader(table, columns)
        if not (header := next(filter(None, reader), [])):
            return
        names = columns.fields_of([*map(column_name, header)])
        needed = _needed(names)
        begin = table.number + 1
        for cells in reader:
            number, begin = begin, table.number + 1
            if cells and len(cells) != len(names):
                # A truncated file can end within any cell.
                is_cut = len(cells) < len(names) and not table.last.endswith("\n")
                if is_cut or not needed <= len(cells) < len(names):
                    cells_there = counted(len(cells), "cell")
                    problem = f"{cells_there}, and the header has {len(names)}"
                    if is_cut:
                        problem += "; if the file is complete, end it with a line break"
                    yield Line(number, {}, f"body: {problem}")
                    continue
                short(number)
            if fields := columns.values_of(names, cells):
                yield Line(number, fields)
    except csv.Error as error:
        raise InputError(
            f"{shown_name(path)}:{begin}: not CSV as it must be, separated by "
            f"{table.separator!r}: {error}"
        ) from error


def _needed(names: Sequence[Sequence[str]]) -> int:
    """Return the minimum of a row's cells: up to the fields that name its ticket."""
    telling = [
        at for at, filled in enumerate(names, 1) if _TELLING.intersection(filled)
    ]
    return max(telling, default=len(names))


def _reader(table: _Table, columns: Columns) -> Iterator[list[str]]:
    """Return the rows, with the declared separator, or the best fit to the header."""
    header = [next((text for text in table if text.strip()), "")]
    if declared := _DECLARED.fullmatch(header[0]):
        table.separator = declared[1]
    else:
        quotes = header[0].count('"')
        while quotes % 2 and len(header) < _MAX_HEADER and (text := next(table, "")):
            header.append(text)
            quotes += text.count('"')
        table.put_back(header)
        table.separator = max(
            _SEPARATORS, key=lambda separator: _fit(header, separator, columns)
        )
    return csv.reader(table, delimiter=table.separator, strict=True)


def _fit(header: Sequence[str], separator: str, columns: Columns) -> tuple[int, int]:
    """Return the count of columns with a field, and of all columns."""
    names = next(csv.reader(header, delimiter=separator), [])
    return sum(columns.has(column_name(name)) for name in names), len(names)
