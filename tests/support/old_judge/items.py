"""The items of the two tables as Python values; see `docs/operations.md`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from ticket_numbering.contract.chain import valid_chain
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CHAIN,
    ERASED,
    EXTERNAL,
    NUMBER,
    ORIGIN,
    RECORD_ID,
    RESERVED,
    RESERVED_UP_TO,
    SALT,
    STATUS,
    VOIDED,
    assignment,
    key_of_id,
)
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.field_types import (
    is_idempotency_key,
    is_project_id,
    timestamp,
)
from ticket_numbering.contract.messages import (
    Assignment,
    CreateTicket,
    stored_fingerprint,
)
from ticketctl.cli.errors import NotThereError
from ticketctl.cli.output import program
from ticketctl.ledger import HIGHEST

MARKS: Final = {VOIDED: "void", ERASED: "erase"}
"""The statuses that a ticket gets by commands, and these."""

_OF_A_TICKET: Final = {
    *(CreateTicket.model_fields.keys() - {"project_id"}),
    *(SALT, ASSIGNED_AT),
}
"""Attributes that a reserved item never has: the chain does not cover them there."""

_deserialize = TypeDeserializer().deserialize
_serialize = TypeSerializer().serialize


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
        return ticket_key(self.project_id, self.number)

    @property
    def idempotency_key(self) -> str | None:
        """The key of the request; None for a reserved number."""
        return self.fields.get("idempotency_key")

    @property
    def status(self) -> str | None:
        """`reserved`, `voided`, `erased`, or None."""
        return self.fields.get(STATUS)

    @property
    def is_external(self) -> bool:
        """Whether another system gave the number; its predecessors may be missing."""
        return self.fields.get(ORIGIN) == EXTERNAL

    @cached_property
    def chain(self) -> str:
        """Its hash; "" if that is missing or malformed."""
        return valid_chain(self.fields.get(CHAIN))

    @property
    def is_lost(self) -> bool:
        """Whether a reserved item stands for a ticket that was numbered here."""
        is_reserved = self.status == RESERVED and self.idempotency_key is None
        return is_reserved and bool(self.chain)

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of its text; "" if its text is malformed."""
        try:
            return stored_fingerprint(self.fields)
        except TypeError:
            return ""

    @property
    def reserved_up_to(self) -> int:
        """The last number of the seed that took the number; 0 without a seed."""
        value = self.fields.get(RESERVED_UP_TO)
        return int(value) if isinstance(value, Decimal) else 0

    @property
    def follows_a_sequence(self) -> bool:
        """Whether a seed took it because a worker may have held it."""
        return self.reserved_up_to > self.number

    @property
    def ends_a_seed(self) -> bool:
        """Whether it is the last number of a seed, reserved or imported since."""
        return self.reserved_up_to == self.number

    @property
    def explains_a_gap(self) -> bool:
        """Whether the numbers right before it may be another system's, without items.

        A number that a worker gave, or a seed took from it, has all before it.
        """
        is_given = self.is_lost or self.follows_a_sequence
        return self.is_external and not is_given

    @property
    def has_number(self) -> bool:
        """Whether its number is valid for a ticket."""
        return self.fields[NUMBER] == self.number and 1 <= self.number <= HIGHEST

    @cached_property
    def is_malformed(self) -> bool:
        """Whether another program must have written it."""
        if self.status == RESERVED:
            return not self.has_number or not _OF_A_TICKET.isdisjoint(self.fields)
        key = self.idempotency_key
        return key is None or not (
            self.has_number and is_request_key(self.project_id, key)
        )


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
    return {
        # Most values are texts, which the deserializer takes its time for.
        name: value["S"] if "S" in value else _deserialize(value)
        for name, value in item.items()
    }


def serialized(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return Python values as a DynamoDB item."""
    return {name: _serialize(value) for name, value in fields.items()}


def ticket(item: Mapping[str, Any]) -> Ticket:
    """Read an item of the tickets' table."""
    fields = plain(item)
    return Ticket(fields["project_id"], int(fields[NUMBER]), fields)


def key_record(item: Mapping[str, Any]) -> KeyRecord:
    """Read an item of the idempotency keys' table.

    Raises:
        NotThereError: It is malformed.
    """
    fields, found = plain(item), assignment(item)
    item_id = fields[RECORD_ID]
    key = key_of_id(item_id)
    if (
        key == (fields.get("project_id"), fields.get("idempotency_key"))
        and is_request_key(*key)
        and isinstance(found, Assignment)
        and found.number <= HIGHEST
    ):
        return KeyRecord(*key, found.number, fields)
    raise NotThereError(f"the record {item_id} is malformed; see: {program} audit")


def is_request_key(project_id: str, idempotency_key: str) -> bool:
    """Tell whether a request can have this key; others may be too long to look up."""
    return is_project_id(project_id) and is_idempotency_key(idempotency_key)


def timestamp_now() -> str:
    """Return this moment as the worker writes it."""
    return timestamp(datetime.now(UTC))


def json_values(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as JSON values, including types that others have added."""
    document: dict[str, Any] = json.loads(json.dumps(fields, default=_json_value))
    return document


def _json_value(value: Any) -> Any:
    match value:
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case set():
            return list(value)
        case _:
            return repr(value)
