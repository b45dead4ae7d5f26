"""The columns of a CSV file, and their fields.

An empty cell means that the field is absent. Labels are separated by semicolons, and
may fill several columns. Attributes are columns named `attributes.NAME`; the cells of
several columns are joined.
"""

import csv
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.request_fields import Fields
from ticketctl.cli.errors import InputError
from ticketctl.files.lines import NUMBERS, quoted, whole

FIELDS: Final = {*CreateTicket.model_fields, "key", "number", "assigned_at"} - {
    "attributes"
}
"""The fields of a request, and those of a ticket's number and date."""

_ATTRIBUTE: Final = "attributes."
_LABELS: Final = "labels"
_CHOICE: Final = f"the fields are {', '.join(sorted(FIELDS))} and attributes.NAME"


def column_name(text: str) -> str:
    """Return a column's name normalized, because programs spell it differently."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


@dataclass(frozen=True)
class Columns:
    """Maps columns to fields."""

    mapping: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The fields by column; other columns are left out.

    Without a mapping, the names of the columns are those of the fields.
    """

    def fields_of(self, header: Sequence[str]) -> list[Sequence[str]]:
        """Return the fields of each column, by normalized names.

        Raises:
            Error: The header does not match the mapping.
        """
        if missing := [name for name in self.mapping if name not in header]:
            raise csv.Error(
                f"the header has no column {', '.join(map(quoted, missing))}; it has "
                f"{', '.join(map(quoted, dict.fromkeys(header)))}"
            )
        if self.mapping:
            names = [self.mapping.get(column, ()) for column in header]
        else:
            names = [(self._checked(column),) for column in header]
        for name, number in Counter(chain.from_iterable(names)).items():
            if number > 1 and name in FIELDS - {_LABELS}:
                raise csv.Error(f"{name} is filled by {number} columns, and takes one")
        return names

    def has(self, column: str) -> bool:
        """Return whether a column has a field."""
        if self.mapping:
            return column in self.mapping
        return column in FIELDS or column.startswith(_ATTRIBUTE)

    def _checked(self, name: str) -> str:
        # A column without a name, such as after the last separator, must have only
        # empty cells: a ticket has no such field.
        if not name or self.has(name):
            return name
        remedy = f"rename the column, or give --map {quoted(f'{name}=FIELD')}"
        raise csv.Error(f"no field {quoted(name)}; {_CHOICE}; {remedy}")

    def values_of(self, names: Iterable[Sequence[str]], cells: Iterable[str]) -> Fields:
        """Return the fields of a row."""
        fields: Fields = {}
        for filled, cell in zip(names, cells, strict=False):
            for name in filled if cell else ():
                if name == _LABELS:
                    fields.setdefault(name, []).extend(self._labels(cell))
                elif name.startswith(_ATTRIBUTE):
                    attributes = fields.setdefault("attributes", {})
                    own = name.removeprefix(_ATTRIBUTE)
                    former = f"{attributes[own]}, " if own in attributes else ""
                    attributes[own] = former + cell
                else:
                    fields[name] = whole(cell) if name in NUMBERS else cell
        return fields

    def _labels(self, cell: str) -> list[str]:
        # Other systems separate labels with commas.
        labels = re.split("[;,]" if self.mapping else ";", cell)
        return [label.strip() for label in labels if label.strip()]


def mapped(pairs: Iterable[str]) -> Columns:
    """Return the columns of `COLUMN=FIELD` pairs.

    Raises:
        InputError: A pair is malformed, or its field is unknown.
    """
    mapping: dict[str, list[str]] = {}
    for pair in pairs:
        column, _, name = column_name(pair).rpartition("=")
        if not column or (name not in FIELDS and not name.startswith(_ATTRIBUTE)):
            raise InputError(f"--map: not COLUMN=FIELD: {quoted(pair)}; {_CHOICE}")
        names = mapping.setdefault(column.rstrip(), [])
        names += [] if name in names else [name]
    return Columns(mapping)
