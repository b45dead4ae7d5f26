"""Reads an export and the tables into the database of a restore."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any, Final

from ticket_numbering.contract.dynamodb_items import (
    ATTRIBUTES,
    NUMBER,
    RECORD_ID,
    assignment,
)
from ticket_numbering.contract.errors import InvalidMessageError
from ticketctl.aws.items import key_record, ledger_item, serialized
from ticketctl.aws.request_fields import Fields
from ticketctl.aws.table_reader import TableReader
from ticketctl.cli.errors import InputError
from ticketctl.files.json_lines import END, KIND, RECORD, json_lines, kind_of, objects
from ticketctl.files.lines import STANDARD_INPUT, Line, Problems, open_texts, shown_name
from ticketctl.ledger.item import Item, Malformed, parse
from ticketctl.ledger.record import KeyRecord, parse_record
from ticketctl.restore.database import Database, Place, digest

NOTHING: Final = "; nothing was put back"

_MARK: Final = b"\xef\xbb\xbf"
"""The byte-order mark of UTF-8, which no line has."""


@dataclass(frozen=True)
class Saved:
    """A file whose lines can be read again by position."""

    name: str
    """The name as given."""
    path: Path

    def item(self, database: Database, project_id: str, number: int) -> Item:
        """Return the complete item of a number from the file.

        Raises:
            InputError: The file has changed.
        """
        place, own = database.place(project_id, number)
        with self.path.open("rb") as file:
            file.seek(place.offset)
            text = file.read(place.size).decode("utf-8", "replace")
        fields = [_exact(line.fields) for line in json_lines([text])]
        if [*map(digest, fields)] != [own]:
            name = shown_name(self.name)
            raise InputError(f"{name}:{place.line}: it was changed meanwhile")
        return parse(fields[0])


@contextmanager
def saved_file(name: str) -> Iterator[tuple[Saved, IO[bytes] | None]]:
    """Yield a file, and the target of its copy if it is standard input."""
    if name != STANDARD_INPUT:
        yield Saved(name, Path(name)), None
        return
    with NamedTemporaryFile() as copy:
        yield Saved(name, Path(copy.name)), copy


@dataclass
class ExportReader:
    """Reads the lines of an export into a database."""

    database: Database
    file: Saved
    projects: frozenset[str] = frozenset()
    """The projects; empty for all."""
    counts: Mapping[str, Any] | None = None
    """The counts in the last line."""
    items: int = 0
    records: int = 0
    problems: Problems = field(init=False)

    def __post_init__(self) -> None:
        """Start without a problem."""
        self.problems = Problems(self.file.name)

    def read(self, copy: IO[bytes] | None, *, is_part: bool) -> None:
        """Read the file, and write the read lines to a copy, if there is one.

        Raises:
            InputError: A line is invalid, or the file is incomplete.
        """
        offset = 0
        with open_texts(self.file.name) as texts:
            if copy is None:
                with self.file.path.open("rb") as file:
                    offset = len(_MARK) * (file.read(len(_MARK)) == _MARK)
            for number, text in enumerate(objects(self.file.name, texts), 1):
                encoded = text.encode()
                if copy:
                    copy.write(encoded)
                for line in json_lines([text]):
                    self._take(
                        replace(line, number=number),
                        Place(number, offset, len(encoded)),
                    )
                offset += len(encoded)
        if copy:
            copy.flush()
        self.problems.end(NOTHING)
        if not is_part:
            self._check_whole()

    def _take(self, line: Line, place: Place) -> None:
        problem = line.problem
        if self.counts is not None:
            problem = problem or "it is behind the last line of an export"
        try:
            if not problem:
                self._take_fields(_exact(line.fields), place)
        except InvalidMessageError as error:
            problem = str(error)
        if problem:
            self.problems.add(line.number, problem)

    def _take_fields(self, fields: Fields, place: Place) -> None:
        match kind_of(fields):
            case "end":
                self.counts = fields[END]
            case "record":
                self.records += 1
                self._take_record(fields[RECORD], place.line)
            case _:
                self.items += 1
                self._take_item(checked_item(fields), place)

    def _take_record(self, fields: Fields, line: int) -> None:
        if not isinstance(fields.get(RECORD_ID), str):
            raise InvalidMessageError("the record of a key without an id")
        record = parse_record(fields, assignment(serialized(fields)))
        if not isinstance(record, KeyRecord):
            raise InvalidMessageError(str(record))
        if self._wants(record.project_id):
            self.database.records.add(record, line)

    def _take_item(self, item: Item, place: Place) -> None:
        if not self._wants(item.project_id):
            return
        if first := self.database.slot(item.project_id, item.number).line:
            raise InvalidMessageError(f"{item.ticket_key}: line {first} has it, too")
        self.database.add_item(item, place)

    def _wants(self, project_id: str) -> bool:
        return not self.projects or project_id in self.projects

    def _check_whole(self) -> None:
        name, remedy = shown_name(self.file.name), "; --partial takes it as it is"
        if self.counts is None:
            raise InputError(
                f"{name}: not whole: an export ends with a line of counts{remedy}"
            )
        said = self.counts.get("items"), self.counts.get("records") or 0
        if said != (self.items, self.records):
            raise InputError(
                f"{name}: not whole: it has {self.items} items and {self.records} "
                f"records, and says {said[0]} and {said[1]}{remedy}"
            )


def checked_item(fields: Fields) -> Item:
    """Return the item of a line.

    Raises:
        InvalidMessageError: This release writes no such item.
    """
    if KIND in fields:
        raise InvalidMessageError(f"{KIND}: of a later ticketctl: use the newest")
    if unknown := sorted(fields.keys() - ATTRIBUTES):
        raise InvalidMessageError(f"{unknown[0]}: no attribute of an exported item")
    if nulls := [name for name, value in fields.items() if value is None]:
        raise InvalidMessageError(f"{nulls[0]}: null, which no item has")
    if not (
        isinstance(fields.get("project_id"), str)
        and isinstance(fields.get(NUMBER), int)
    ):
        raise InvalidMessageError("no exported item: project_id or number")
    item = parse(fields)
    if isinstance(item, Malformed):
        raise InvalidMessageError(f"{item.ticket_key}: another program's item")
    return item


def read_tables(
    reader: TableReader, database: Database, show: Callable[[str], None]
) -> None:
    """Read the records of all keys, and the items of the file's projects.

    Only a scan of the records shows that a number belongs to another key, because no
    index has them by number.
    """
    projects, count = {*database.projects()}, 0
    for page in reader.scan(reader.keys_table):
        for record in map(key_record, page):
            if record.project_id in projects:
                database.records.add(record)
        count += len(page)
        show(f"{count:,} keys")
    count = 0
    for project_id in sorted(projects):
        for page in reader.project(project_id):
            for item in map(ledger_item, page):
                if item.has_number:
                    database.add_item(item)
            count += len(page)
            show(f"{count:,} tickets")


def _exact(value: Any) -> Any:
    """Return a JSON value with whole numbers as integers, as in a table."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case float():
            return Decimal(str(value))
        case dict():
            return {name: _exact(member) for name, member in value.items()}
        case list():
            return [_exact(member) for member in value]
        case _:
            return value
