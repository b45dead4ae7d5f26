"""Reads files of JSON objects, one a line; and the lines of an export that differ."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from shlex import quote
from typing import Any, Final

from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.contract.json_body import json_object
from ticketctl.aws.request_fields import Fields, json_fields
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import sanitized
from ticketctl.files.lines import STANDARD_INPUT, Line, open_texts, shown_name

SAVED = "tickets.jsonl"

KIND: Final = "kind"
RECORD: Final = "record"
END: Final = "end"
"""The member of an export line that is no item, whose content is one level down.

So no item is taken for one, even if another program gave it an attribute of that name.
"""


@contextmanager
def open_lines(path: str, taker: str = "") -> Iterator[Iterator[Line]]:
    """Open a file, or standard input, and yield its lines as they are read.

    `taker` is the command that reads the lines which `ticketctl convert` makes.

    Raises:
        InputError: The file cannot be read, or has no JSON object a line; its lines
            raise it if they are not UTF-8.
    """
    with open_texts(path) as texts:
        yield json_lines(objects(path, texts, taker))


def objects(path: str, texts: Iterator[str], taker: str = "") -> Iterator[str]:
    """Return the lines; reject a file whose start is no JSON object a line.

    Raises:
        InputError: The file is of another kind.
    """
    begin: list[str] = []
    for text in texts:
        begin.append(text)
        if sum(bool(text.strip()) for text in begin) > 1:
            break
    first, *others = [text.strip() for text in begin if text.strip()] or [""]
    file = "" if path == STANDARD_INPUT else sanitized(quote(path))
    if problem := _problem_of(first, file, taker, is_only=not others):
        raise InputError(f"{shown_name(path)}: {problem}")
    return chain(begin, texts)


def _problem_of(first: str, file: str, taker: str, *, is_only: bool) -> str | None:
    """Return the problem of a file that is no JSON object a line, and the remedy."""
    if first and not first.startswith(("{", "[")):
        convert = f"ticketctl convert {file or '-'} --save {SAVED}"
        remedy = f"; if it is CSV: {convert}, then {taker} {SAVED}"
        return f"not lines of JSON{remedy if taker else ''}"
    if first.endswith(",") and json_fields(first[:-1]):
        return f"its lines end with a comma; remove it: sed 's/,$//' {file}".rstrip()
    fields = json_fields(first)
    if fields.keys() == {"Item"}:
        return (
            "DynamoDB's own export; import it into a table, from which "
            "ticketctl export --tickets-table makes lines"
        )
    is_part = first == "{" or (first.startswith("{") and first.endswith(","))
    # In a file of many lines a list belongs to a ticket.
    lists = [
        name
        for name, value in fields.items()
        if is_only
        and isinstance(value, list)
        and any(isinstance(member, dict) for member in value)
    ]
    if not (is_part or lists or first.startswith("[")):
        return None
    wanted = "." if is_part else quote(f".{lists[0] if len(lists) == 1 else ''}[]")
    command = f"jq -c {sanitized(wanted)} {file}".strip()
    is_within = is_part or len(lists) > 1
    within = " (for a list within an object '.NAME[]')" if is_within else ""
    return f"not one JSON object a line; convert it: {command}{within}"


def json_lines(texts: Iterable[str]) -> Iterator[Line]:
    """Read one JSON object a line; skip blank lines."""
    for number, text in enumerate(texts, 1):
        try:
            if text.strip():
                yield Line(number, json_object(text.removesuffix("\n")))
        except InvalidMessageError as error:
            yield Line(number, {}, str(error))


def record_line(fields: Fields) -> dict[str, Any]:
    """Return the line of a key's record."""
    return {KIND: RECORD, RECORD: fields}


def end_line(items: int, records: int | None, missing: int) -> dict[str, Any]:
    """Return the last line, which shows that an export is complete.

    The count of records is None if they were not read.
    """
    counts = {"items": items, "records": records, "missing": missing}
    return {KIND: END, END: counts}


def kind_of(line: Mapping[str, Any]) -> str | None:
    """Return the kind of a line; None for an item."""
    kind = line.get(KIND)
    is_other = kind in {RECORD, END} and line.keys() == {KIND, kind}
    return str(kind) if is_other else None
