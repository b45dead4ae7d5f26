"""The work of the convert command: converts a foreign file."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import chain
from pathlib import Path
from typing import Any, Final

from ticket_numbering.contract.errors import InvalidMessageError
from ticketctl.aws.request_fields import Fields
from ticketctl.cli.arguments import checked_project
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import counted, note_if_interrupted, print_note
from ticketctl.convert.columns import Columns, mapped
from ticketctl.convert.rows import rows_of
from ticketctl.convert.times import check_form, time_of, zone_of
from ticketctl.files.fitting import fitted
from ticketctl.files.json_lines import json_lines, objects
from ticketctl.files.lines import (
    MOST_PROBLEMS,
    NUMBERS,
    Line,
    Problems,
    open_texts,
    shown_name,
    whole,
)
from ticketctl.files.whole_file import so_far, writing

_OF_A_TICKET: Final = ("key", "number", "assigned_at")
_TABLES: Final = {".csv", ".tsv"}


@dataclass(frozen=True)
class Choices:
    """The options of a conversion."""

    columns: Sequence[str] = ()
    """Pairs of `COLUMN=FIELD`."""
    project: str | None = None
    encoding: str | None = None
    date_format: str | None = None
    time_zone: str | None = None
    fit: bool = False
    save: Path | None = None


def convert(file: str, choices: Choices) -> None:
    """Convert a file, or standard input.

    Raises:
        InputError: It has an invalid row, or none.
    """
    save = choices.save
    if choices.project is not None:
        checked_project(choices.project)
    if choices.date_format:
        check_form(choices.date_format)
    zone = zone_of(choices.time_zone) if choices.time_zone else None
    problems, count = Problems(file), 0
    conversion = Conversion(choices, zone, problems)
    fields, changes = mapped(choices.columns), conversion.changes
    with (
        writing(save) as write,
        note_if_interrupted(
            lambda: so_far(save, counted(count, "line")) if count else ""
        ),
        open_rows(file, fields, choices.encoding, changes) as rows,
    ):
        for line in conversion.lines(rows):
            write(line)
            count += 1
        problems.end("; no whole file came of it")
        if not count:
            raise InputError(f"{shown_name(file)}: holds no ticket")
    for change in changes.notes():
        print_note(change)
    print_note(f"converted {counted(count, 'line')}{f' to {save}' if save else ''}")


@dataclass
class _Run:
    """Adjacent rows with the same change."""

    first: int
    last: int
    """The lines of the first and the last row in the file."""
    end: int
    """The count of all rows before the last one."""

    def __str__(self) -> str:
        """Return the lines for a note."""
        is_one = self.first == self.last
        return f"{self.first}" if is_one else f"{self.first}-{self.last}"


@dataclass
class Changes:
    """The rows by the kind of their change."""

    rows: int = 0
    """The count of rows so far; a row can have many lines."""
    _runs: dict[str, list[_Run]] = field(default_factory=lambda: defaultdict(list))
    _counts: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, line: int) -> None:
        """Add the current row, which begins at a line, to a kind of change."""
        runs = self._runs[kind]
        self._counts[kind] += 1
        if runs and runs[-1].end == self.rows - 1:
            runs[-1].last, runs[-1].end = line, self.rows
        else:
            runs.append(_Run(line, line, self.rows))

    def notes(self) -> Iterator[str]:
        """Yield a note for each kind, with the lines of its first rows."""
        for kind, runs in self._runs.items():
            shown = ", ".join(map(str, runs[:MOST_PROBLEMS]))
            more = ", ..." if len(runs) > MOST_PROBLEMS else ""
            rows = counted(self._counts[kind], "ticket")
            word = "line" if self._counts[kind] == 1 else "lines"
            yield f"{kind}: {rows}, on {word} {shown}{more}"


@contextmanager
def open_rows(
    path: str, columns: Columns, encoding: str | None, changes: Changes
) -> Iterator[Iterator[Line]]:
    """Open a table or JSON lines, and yield the fields of each row.

    The suffix or the first character of the file decides the kind.

    Raises:
        InputError: The file cannot be read; its rows raise it, too.
    """
    with open_texts(path, encoding) as texts:
        first = next((text for text in texts if text.strip()), "")
        is_json = first.lstrip()[:1] in {"{", "["}
        rest = chain([first], texts)
        if is_json and Path(path).suffix.lower() not in _TABLES:
            if columns.mapping:
                raise InputError(f"{shown_name(path)}: --map is for CSV; jq maps JSON")
            yield json_lines(objects(path, rest))
        else:
            kind = "without the last cells, which count as empty"
            yield rows_of(path, rest, columns, lambda row: changes.add(kind, row))


@dataclass(frozen=True)
class Conversion:
    """Converts the rows of a file to lines."""

    choices: Choices
    zone: tzinfo | None
    """The zone of dates without one."""
    problems: Problems
    changes: Changes = field(default_factory=Changes)

    def lines(self, rows: Iterable[Line]) -> Iterator[Fields]:
        """Yield the line of each valid row; record the invalid ones as problems."""
        for row in rows:
            try:
                yield self._line(row)
            except InvalidMessageError as error:
                self.problems.add(row.number, str(error))
            self.changes.rows += 1

    def _line(self, row: Line) -> Fields:
        if row.problem:
            raise InvalidMessageError(row.problem)
        given = {name: value for name, value in row.fields.items() if value is not None}
        fields = given | {name: whole(given[name]) for name in NUMBERS & given.keys()}
        if self.choices.project and "key" not in fields:
            fields.setdefault("project_id", self.choices.project)
        if "assigned_at" in fields:
            fields["assigned_at"] = self._time(fields["assigned_at"], row.number)
        if self.choices.fit:
            fields = self._fitted(fields, row.number)
        return fields

    def _time(self, value: Any, row: int) -> str:
        time = time_of(value, self.choices.date_format, self.zone)
        if time.is_local:
            self.changes.add(f"assigned_at is taken as {self.zone}", row)
        if time.is_ambiguous:
            self.changes.add("assigned_at is twice that day; the first is taken", row)
        return time.text

    def _fitted(self, fields: Fields, row: int) -> Fields:
        of_ticket = {name: fields[name] for name in _OF_A_TICKET if name in fields}
        request = {name: fields[name] for name in fields if name not in of_ticket}
        changed = fitted(request)
        for name, value in changed.items():
            if value != request.get(name):
                kind = "changed to fit" if name in request else "missing, now U+FFFD"
                self.changes.add(f"{name}: {kind}", row)
        if changed != request and "idempotency_key" in request:
            kind = (
                "changed under a key of its own, so a repeat of its request is refused"
            )
            self.changes.add(kind, row)
        return of_ticket | changed
