"""What the two tables hold, as the tools read it; `docs/operations.md` describes it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from boto3.dynamodb.types import TypeDeserializer

from ticketctl.cli.errors import NotThereError

ELSEWHERE: Final = "elsewhere"
"""A ticket's `origin`, where another system gave the number; else it has none."""

RESERVED: Final = "reserved"
"""A ticket's `status`, where it only stands for a number that was used elsewhere."""

VOIDED: Final = "voided"
"""A ticket's `status`, where it should not have been; it keeps its number."""

PROJECT_ID: Final = re.compile("[A-Za-z0-9._-]{1,64}")
"""A project's id, as the worker takes it."""

IDEMPOTENCY_KEY: Final = re.compile("[!-~]{1,128}")
"""A request's key, as the worker takes it: visible ASCII characters."""

_deserialize = TypeDeserializer().deserialize


@dataclass(frozen=True)
class Ticket:
    """An item of the tickets' table."""

    project_id: str
    number: int
    fields: Mapping[str, Any]
    """Every attribute, as Python values; numbers are `Decimal`."""

    @property
    def ticket_key(self) -> str:
        """The number's display form, such as `PROJ-42`."""
        return f"{self.project_id}-{self.number}"

    @property
    def idempotency_key(self) -> str | None:
        """The key of the request; none if the number is only reserved."""
        return self.fields.get("idempotency_key")

    @property
    def status(self) -> str | None:
        """`reserved`, `voided`, or nothing."""
        return self.fields.get("status")

    @property
    def is_from_elsewhere(self) -> bool:
        """Whether another system gave the number: those between may be missing."""
        return self.fields.get("origin") == ELSEWHERE

    @property
    def follows_a_sequence(self) -> bool:
        """Whether a seed took it because a worker may have held it."""
        return bool(self.fields.get("reserved_up_to", 0) > self.number)

    @property
    def ends_a_seed(self) -> bool:
        """Whether a seed went up to it, be it reserved or imported since."""
        return bool(self.fields.get("reserved_up_to") == self.number)


@dataclass(frozen=True)
class KeyRecord:
    """An item of the idempotency keys' table."""

    project_id: str
    idempotency_key: str
    number: int
    fields: Mapping[str, Any]
    """Every attribute, as Python values; numbers are `Decimal`."""


def plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a DynamoDB item as Python values."""
    return {name: _deserialize(value) for name, value in item.items()}


def ticket(item: Mapping[str, Any]) -> Ticket:
    """Read an item of the tickets' table."""
    fields = plain(item)
    return Ticket(fields["project_id"], int(fields["number"]), fields)


def key_record(item: Mapping[str, Any]) -> KeyRecord:
    """Read an item of the idempotency keys' table.

    Raises:
        NotThereError: It is not as the system writes it.
    """
    fields = plain(item)
    match fields:
        case {
            "project_id": str(project_id),
            "idempotency_key": str(key),
            "number": Decimal() as number,
        } if fields["id"] == f"{project_id}#{key}":
            return KeyRecord(project_id, key, int(number), fields)
    message = f"the record {fields['id']} is malformed; see: ticketctl audit"
    raise NotThereError(message)


def as_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as JSON can hold them, whatever somebody else has added."""
    return {name: _json_value(value) for name, value in fields.items()}


def _json_value(value: Any) -> Any:
    match value:
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case Mapping():
            return as_json(value)
        case list() | set():
            return [_json_value(each) for each in value]
        case str() | bool() | None:
            return value
        case _:
            return str(value)
