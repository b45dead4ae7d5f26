"""What the audit needs of an item, and whether the item is as the system writes it."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from ticketctl.auditing.findings import Finding, Kind
from ticketctl.auditing.table_scan import Item
from ticketctl.items import ELSEWHERE, RESERVED, VOIDED

TICKET_ATTRIBUTES: Final = (
    "project_id",
    "number",
    "idempotency_key",
    "status",
    "origin",
    "assigned_at",
)
KEY_ATTRIBUTES: Final = ("id", "project_id", "idempotency_key", "number")

_WHOLE: Final = re.compile("[0-9]{1,19}")
_HIGHEST: Final = 2**63 - 1  # Far above any sequence; fits the arrays of the audit.


@dataclass(frozen=True, slots=True)
class TicketRow:
    """A ticket."""

    project_id: str
    number: int
    idempotency_key: str | None
    """None of a number that is only reserved."""
    status: str
    is_from_elsewhere: bool
    assigned_at: str

    def is_older_than(self, age: timedelta, now: datetime) -> bool:
        """Tell whether it was surely assigned that long ago."""
        try:
            return now - datetime.fromisoformat(self.assigned_at) >= age
        except (TypeError, ValueError):  # No time, or one without its offset.
            return False


@dataclass(frozen=True, slots=True)
class KeyRow:
    """The record of an idempotency key."""

    project_id: str
    idempotency_key: str
    number: int


class RowError(Exception):
    """The item is not as the system writes it."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


def ticket_row(item: Item) -> TicketRow:
    """Read a ticket.

    Raises:
        RowError: It has no key though it is no reserved number, say.
    """
    project_id, written = item["project_id"]["S"], item["number"]["N"]
    number, key = _number(item), _text(item, "idempotency_key")
    status = _text(item, "status") or ""
    if number is None or (key is None and status != RESERVED):
        name = f"the ticket {project_id}, {written}"
        raise RowError(Finding(Kind.MALFORMED, project_id, item=name))
    return TicketRow(
        project_id,
        number,
        key,
        status if status in {RESERVED, VOIDED} else "",
        _text(item, "origin") == ELSEWHERE,
        _text(item, "assigned_at") or "",
    )


def key_row(item: Item) -> KeyRow:
    """Read a key's record.

    Raises:
        RowError: It is not found by what it says that it is, say.
    """
    identity = item["id"]["S"]
    project_id, _, key = identity.partition("#")
    said = _text(item, "project_id"), _text(item, "idempotency_key")
    number = _number(item)
    if number is None or said != (project_id, key):
        name = f"the record {identity}"
        raise RowError(Finding(Kind.MALFORMED, project_id, item=name))
    return KeyRow(project_id, key, number)


def _text(item: Item, name: str) -> str | None:
    value: dict[str, Any] = item.get(name, {})
    return value.get("S")


def _number(item: Item) -> int | None:
    written = item.get("number", {}).get("N", "")
    number = int(written) if _WHOLE.fullmatch(written) else 0
    return number if 1 <= number <= _HIGHEST else None
