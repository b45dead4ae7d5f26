"""Reads the lines of a file of requests, JSONL or CSV, one after the other."""

import codecs
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Final

from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.contract.json_body import json_object
from ticketctl.aws.request_fields import json_fields
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import remark, visible
from ticketctl.files import Format
from ticketctl.files.csv_columns import Columns
from ticketctl.files.csv_rows import rows_of
from ticketctl.files.lines import STANDARD_INPUT, Line, shown_name

_UTF_16_MARKS: Final = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
_UNMARKED: Final = "looks like UTF-16 without a mark: say --encoding utf-16-le, or -be"


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
        texts = _texts(path, text, encoding)
        suffix = Path(path).suffix.lower()
        if (file_format or suffix[1:]) in {"csv", "tsv"}:
            yield rows_of(path, texts, columns or Columns())
        elif columns and columns.mapping:
            raise InputError(f"{shown_name(path)}: --map is for CSV; see --format")
        else:
            may_be_csv = not file_format and suffix != ".jsonl"
            yield json_lines(_objects(path, texts, may_be_csv=may_be_csv))


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
            remark(f"{name}: the last line has no line break: is the file complete?")
    except UnicodeError as error:
        line, remedy = number + 1, ""
        if isinstance(error, UnicodeDecodeError):
            line += error.object[: error.start].count(b"\n")
            if error.object.startswith(_UTF_16_MARKS):
                remedy = ", but UTF-16 by its mark: say --encoding utf-16"
            elif b"\0" in error.object[:2]:
                remedy = f"; {_UNMARKED}"
            elif not encoding:
                remedy = "; --encoding reads others, such as cp1252 or latin-1"
        raise InputError(
            f"{shown_name(path)}:{line}: not {encoding or 'UTF-8'}{remedy}"
        ) from error


def _problem_of(first: str) -> str | None:
    """Return what the first line shows to be wrong with all."""
    if "\0" in first:
        return _UNMARKED
    if "\r" in first and not first.endswith("\n"):
        return "its lines end with CR alone, which this mends: tr '\\r' '\\n'"
    return None


def _objects(path: str, texts: Iterator[str], *, may_be_csv: bool) -> Iterator[str]:
    """Refuse JSON that is not an object a line by how it begins."""
    begin: list[str] = []
    for text in texts:
        begin.append(text)
        if text.strip():
            break
    found = "".join(begin).strip()
    file = "" if path == STANDARD_INPUT else visible(quote(path))
    if may_be_csv and found and not found.startswith(("{", "[")):
        raise InputError(f"{shown_name(path)}: not JSON; if it is CSV: --format csv")
    if found.endswith(",") and json_fields(found[:-1]):
        command = f"sed 's/,$//' {file}".strip()
        raise InputError(
            f"{shown_name(path)}: a comma ends its lines, which this mends: {command}"
        )
    is_part = found == "{" or (found.startswith("{") and found.endswith(","))
    lists = [
        name
        for name, value in json_fields(found).items()
        if isinstance(value, list) and any(isinstance(one, dict) for one in value)
    ]
    if is_part or lists or found.startswith("["):
        wanted = "." if is_part else quote(f".{''.join(lists[:1])}[]")
        command = f"jq -c {visible(wanted)} {file}".strip()
        within = " (for a list within an object '.NAME[]')" if is_part else ""
        raise InputError(
            f"{shown_name(path)}: not a JSON object a line, as this makes it: "
            f"{command}{within}"
        )
    yield from chain(begin, texts)


def json_lines(texts: Iterable[str]) -> Iterator[Line]:
    """Read a JSON object a line; blank lines ask for nothing."""
    for number, text in enumerate(texts, 1):
        try:
            if text.strip():
                yield Line(number, json_object(text.removesuffix("\n")))
        except InvalidMessageError as error:
            yield Line(number, {}, str(error))
