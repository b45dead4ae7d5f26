"""The items of the IdempotencyKeys table, each parsed once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ticket_numbering.contract.dynamodb_items import (
    ERASED_FINGERPRINT,
    FINGERPRINT,
    RECORD_ID,
    key_of_id,
)
from ticket_numbering.contract.errors import DamagedKeyRecordError
from ticket_numbering.contract.messages import (
    FINGERPRINT_VERSION,
    Assignment,
    RequestKey,
)
from ticketctl.ledger import HIGHEST
from ticketctl.ledger.item import is_request_key

_KNOWN: Final = f"{FINGERPRINT_VERSION}:", ERASED_FINGERPRINT


@dataclass(frozen=True)
class KeyRecord:
    """The record of an idempotency key."""

    project_id: str
    idempotency_key: str
    number: int
    fields: Mapping[str, Any]
    """All attributes as Python values; numbers are `Decimal`."""

    @property
    def record_id(self) -> str:
        """The table key of the record."""
        return str(self.fields[RECORD_ID])

    @property
    def key(self) -> RequestKey:
        """The recorded key of a request."""
        return RequestKey(self.project_id, self.idempotency_key)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the request."""
        fingerprint: str = self.fields[FINGERPRINT]
        return fingerprint

    @property
    def is_erased(self) -> bool:
        """Whether the text of its ticket was erased."""
        return self.fingerprint == ERASED_FINGERPRINT

    @property
    def is_later(self) -> bool:
        """Whether a later release wrote it, whose fingerprint may cover more fields."""
        return not self.fingerprint.startswith(_KNOWN)

    def erased(self) -> dict[str, Any]:
        """Return the attributes with the fingerprint erased."""
        return {**self.fields, FINGERPRINT: ERASED_FINGERPRINT}


@dataclass(frozen=True)
class MalformedRecord:
    """A record that the worker cannot use: a repeat of its request fails."""

    record_id: str

    @property
    def project_id(self) -> str:
        """The project of the key; "" without one."""
        return key_of_id(self.record_id).project_id

    def __str__(self) -> str:
        """Return the problem; an audit has the remedy."""
        return f"the record {self.record_id} is malformed"


Record = KeyRecord | MalformedRecord


def parse_record(
    fields: Mapping[str, Any], assignment: Assignment | DamagedKeyRecordError
) -> Record:
    """Parse a record of the table, or of an exported line, as the worker parses it."""
    record_id = str(fields[RECORD_ID])
    key = key_of_id(record_id)
    if (
        isinstance(assignment, Assignment)
        and assignment.number <= HIGHEST
        and key == (fields.get("project_id"), fields.get("idempotency_key"))
        and is_request_key(*key)
    ):
        return KeyRecord(*key, assignment.number, fields)
    return MalformedRecord(record_id)
