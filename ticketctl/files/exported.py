"""The lines of an export that are no items of the tickets' table: each has a kind.

What they hold is one level down, so that no item is taken for one, even if another
program gave it an attribute of that name.
"""

from collections.abc import Mapping
from typing import Any, Final

from ticketctl.aws.request_fields import Fields

KIND: Final = "kind"
RECORD: Final = "record"
END: Final = "end"


def record_line(fields: Fields) -> dict[str, Any]:
    """Return the line of a key's record."""
    return {KIND: RECORD, RECORD: fields}


def end_line(items: int, records: int | None, missing: int) -> dict[str, Any]:
    """Return the last line, which shows that an export is whole.

    Args:
        items: The count of items.
        records: The count of records; None if they were not read.
        missing: The count of numbers that the table lacked.
    """
    counts = {"items": items, "records": records, "missing": missing}
    return {KIND: END, END: counts}


def kind_of(line: Mapping[str, Any]) -> str | None:
    """Return the kind of a line that is no item; None of an item."""
    kind = line.get(KIND)
    is_other = kind in {RECORD, END} and line.keys() == {KIND, kind}
    return str(kind) if is_other else None
