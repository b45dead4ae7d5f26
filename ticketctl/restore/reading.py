"""Reads an export: its items, the records of keys, and whether it is whole."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from ticket_numbering.contract.dynamodb_items import ATTRIBUTES, RECORD_ID, assignment
from ticket_numbering.contract.errors import InvalidMessageError
from ticketctl.aws.items import serialized, timestamp_now
from ticketctl.aws.request_fields import Fields
from ticketctl.cli.errors import InputError
from ticketctl.files.exported import END, KIND, RECORD, kind_of
from ticketctl.files.lines import Line, Problems, shown_name
from ticketctl.importing.existing import Existing, Tickets
from ticketctl.importing.lines import Defaults, check_lines
from ticketctl.ledger.item import Item, Malformed, Place, parse
from ticketctl.ledger.record import KeyRecord, parse_record

NOTHING: Final = "; nothing was put back"


@dataclass(frozen=True)
class Exported:
    """What an export holds."""

    items: Mapping[str, Mapping[int, Item]]
    """By project and number, in ascending order; the numbers are exact."""
    records: Mapping[str, Mapping[int, KeyRecord]]
    """Those that no ticket explains, by project and number."""
    tickets: Tickets
    """The items as an import takes them."""

    def of(self, projects: Collection[str]) -> "Exported":
        """Return it without other projects."""
        return Exported(
            {one: self.items[one] for one in self.items if one in projects},
            {one: self.records[one] for one in self.records if one in projects},
            Tickets(
                [one for one in self.tickets.to_import if one.project_id in projects],
                [one for one in self.tickets.reserved if one.project_id in projects],
            ),
        )


@dataclass
class _Reading:
    """What was read so far."""

    problems: Problems
    items: dict[str, dict[int, Item]]
    records: dict[str, dict[int, KeyRecord]]
    lines: dict[Place, int]
    counts: Mapping[str, Any] | None = None
    """Those of the last line."""

    def take(self, line: Line) -> bool:
        """Take a line; return whether it is an item's.

        Raises:
            InvalidMessageError: Nothing can go back as this line has it.
        """
        if line.problem:
            raise InvalidMessageError(line.problem)
        if self.counts is not None:
            raise InvalidMessageError("it is behind the last line of an export")
        fields = _exact(line.fields)
        match kind_of(fields):
            case "end":
                self.counts = fields[END]
            case "record":
                self._take_record(fields[RECORD])
            case _:
                self._take_item(line.number, fields)
                return True
        return False

    def _take_record(self, fields: Fields) -> None:
        if not isinstance(fields.get(RECORD_ID), str):
            raise InvalidMessageError("the record of a key without an id")
        record = parse_record(fields, assignment(serialized(fields)))
        if not isinstance(record, KeyRecord):
            raise InvalidMessageError(str(record).partition(";")[0])
        own = self.records.setdefault(record.project_id, {})
        if record.number in own:
            raise InvalidMessageError(f"two records name {record.number}")
        own[record.number] = record

    def _take_item(self, number: int, fields: Fields) -> None:
        if KIND in fields:
            raise InvalidMessageError(f"{KIND}: of a later ticketctl: use the newest")
        if unknown := sorted(fields.keys() - ATTRIBUTES):
            raise InvalidMessageError(f"{unknown[0]}: no attribute of an exported item")
        if nulls := [name for name, value in fields.items() if value is None]:
            raise InvalidMessageError(f"{nulls[0]}: null, which no item has")
        if not isinstance(fields.get("project_id"), str) or not isinstance(
            fields.get("number"), int
        ):
            raise InvalidMessageError("no exported item: project_id or number")
        item = parse(fields)
        if isinstance(item, Malformed):
            raise InvalidMessageError(f"{item.ticket_key}: another program's item")
        place = item.project_id, item.number
        if first := self.lines.get(place):
            raise InvalidMessageError(f"{item.ticket_key}: line {first} has it, too")
        self.lines[place] = number
        self.items.setdefault(item.project_id, {})[item.number] = item


def read_export(lines: Iterable[Line], file: str, *, is_part: bool) -> Exported:
    """Return what a file holds.

    Args:
        lines: The lines of the file.
        file: Its name.
        is_part: Whether it may lack its last line, and others.

    Raises:
        InputError: A line is wrong, or the file is not whole.
    """
    reading = _Reading(Problems(file), {}, {}, {})
    plain: list[Line] = []
    for line in lines:
        try:
            if reading.take(line):
                plain.append(line)
        except InvalidMessageError as error:
            reading.problems.add(line.number, str(error))
    reading.problems.end(NOTHING)
    found = [*check_lines(plain, Defaults(timestamp_now()), reading.problems)]
    reading.problems.end(NOTHING)
    count = len(plain), sum(map(len, reading.records.values()))
    if not is_part:
        _check_whole(reading.counts, count, shown_name(file))
    tickets = [one for one in found if isinstance(one, Existing)]
    others = [one for one in found if not isinstance(one, Existing)]
    ordered = {one: dict(sorted(own.items())) for one, own in reading.items.items()}
    return Exported(ordered, reading.records, Tickets(tickets, others))


def _check_whole(
    counts: Mapping[str, Any] | None, found: tuple[int, int], name: str
) -> None:
    remedy = "; --partial takes it as it is"
    if counts is None:
        raise InputError(
            f"{name}: not whole: an export ends with a line of counts{remedy}"
        )
    said = counts.get("items"), counts.get("records") or 0
    if said != found:
        raise InputError(
            f"{name}: not whole: it has {found[0]} items and {found[1]} records, "
            f"and says {said[0]} and {said[1]}{remedy}"
        )


def _exact(value: Any) -> Any:
    """Return a value of JSON with whole numbers as integers, as a table has them."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case float():
            return Decimal(str(value))
        case dict():
            return {name: _exact(one) for name, one in value.items()}
        case list():
            return [_exact(one) for one in value]
        case _:
            return value
