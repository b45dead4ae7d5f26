"""What the audit needs of an item, and whether the item is as the system writes it."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from ticketctl.audit.findings import Finding, Kind
from ticketctl.audit.table_scan import Item
from ticketctl.system.items import (
    ELSEWHERE,
    IDEMPOTENCY_KEY,
    PROJECT_ID,
    RESERVED,
    VOIDED,
)

TICKET_ATTRIBUTES: Final = (
    "project_id",
    "number",
    "idempotency_key",
    "status",
    "origin",
    "assigned_at",
    "reserved_up_to",
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
    """None of a number that is only reserved, and of a malformed ticket."""
    status: str
    is_from_elsewhere: bool
    assigned_at: str
    reserved_up_to: int = 0
    """Where the seed ends that took the number; 0 if none did."""

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
    """The item is not as the system writes it.

    Args:
        finding: What it is to the report.
        row: What can be read of a ticket all the same: its number is not missing.
    """

    def __init__(self, finding: Finding, row: TicketRow | None = None) -> None:
        super().__init__(str(finding))
        self.finding = finding
        self.row = row


def ticket_row(item: Item) -> TicketRow:
    """Read a ticket.

    Raises:
        RowError: It has no key though it is no reserved number, say.
    """
    project_id, written = item["project_id"]["S"], item["number"]["N"]
    name = f"the ticket {project_id}, {written}"
    finding = Finding(Kind.MALFORMED, project_id, item=name)
    number, key = _number(item), _text(item, "idempotency_key")
    if number is None:
        raise RowError(finding)
    status = _text(item, "status") or ""
    row = TicketRow(
        project_id,
        number,
        key,
        status if status in {RESERVED, VOIDED} else "",
        _text(item, "origin") == ELSEWHERE,
        _text(item, "assigned_at") or "",
        _number(item, "reserved_up_to") or 0,
    )
    is_right = status == RESERVED if key is None else _is_askable(project_id, key)
    if not is_right:
        raise RowError(finding, replace(row, idempotency_key=None))
    return row


def key_row(item: Item) -> KeyRow:
    """Read a key's record.

    Raises:
        RowError: It is not found by what it says that it is, say.
    """
    identity = item["id"]["S"]
    project_id, _, key = identity.partition("#")
    said = _text(item, "project_id"), _text(item, "idempotency_key")
    number = _number(item)
    is_right = said == (project_id, key) and _is_askable(project_id, key)
    if number is None or not is_right:
        name = f"the record {identity}"
        raise RowError(Finding(Kind.MALFORMED, project_id, item=name))
    return KeyRow(project_id, key, number)


def _is_askable(project_id: str, key: str) -> bool:
    """Tell a request's key from others, which may be too long to be looked up."""
    return bool(PROJECT_ID.fullmatch(project_id) and IDEMPOTENCY_KEY.fullmatch(key))


def _text(item: Item, name: str) -> str | None:
    value: dict[str, Any] = item.get(name, {})
    return value.get("S")


def _number(item: Item, name: str = "number") -> int | None:
    written = item.get(name, {}).get("N", "")
    number = int(written) if _WHOLE.fullmatch(written) else 0
    return number if 1 <= number <= _HIGHEST else None
