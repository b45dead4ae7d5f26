"""The items of the Tickets table, each parsed once into its kind.

`docs/operations.md` has the kinds as a table, which is generated from these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, Final

from ticket_numbering.contract import dynamodb_items
from ticket_numbering.contract.chain import valid_chain
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CHAIN,
    ERASED,
    NUMBER,
    ORIGIN,
    RESERVED,
    RESERVED_UP_TO,
    SALT,
    STATUS,
    VOIDED,
)
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.field_types import is_idempotency_key, is_project_id
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import (
    CreateTicket,
    RequestKey,
    stored_fingerprint,
)
from ticketctl.ledger import HIGHEST

MARKS: Final = {VOIDED: "void", ERASED: "erase"}
"""The statuses that commands set, with the name of each command."""

_OF_A_TICKET: Final = {
    *(CreateTicket.model_fields.keys() - {"project_id"}),
    *(SALT, ASSIGNED_AT),
}
"""The attributes that a reserved item never has, because no hash covers them."""


TicketId = tuple[str, int]
"""The key of an item: project and number."""


class ItemKind(StrEnum):
    """The kinds of items; a seed's guard and end are kinds of their own."""

    NUMBERED = "numbered"
    VOIDED = "voided"
    ERASED = "erased"
    IMPORTED = "imported"
    IMPORTED_GUARD = "imported at a guard"
    IMPORTED_END = "imported at an end"
    GUARD = "guard"
    END = "end"
    RESERVED = "reserved by hand"
    LOST = "lost"
    MALFORMED = "malformed"


MEANINGS: Final[Mapping[ItemKind, str]] = {
    ItemKind.NUMBERED: "a ticket that the worker numbered",
    ItemKind.VOIDED: "such a ticket, with `status` = `voided`",
    ItemKind.ERASED: "such a ticket, with `status` = `erased`, without its text",
    ItemKind.IMPORTED: "a ticket with an `origin`, voided or erased or not",
    ItemKind.IMPORTED_GUARD: "such a ticket, in the place of a seed's guard",
    ItemKind.IMPORTED_END: "such a ticket, in the place of a seed's end",
    ItemKind.GUARD: (
        "`status` = `reserved`, the first number of a seed; `reserved_up_to` is higher"
    ),
    ItemKind.END: (
        "`status` = `reserved`, the last number of a seed; `reserved_up_to` is its own"
    ),
    ItemKind.RESERVED: "`status` = `reserved`, without a seed",
    ItemKind.LOST: "`status` = `reserved`, with the `chain` of a lost ticket",
    ItemKind.MALFORMED: "an item of another program",
}
"""The description of each kind, for the reference page."""

_RESERVED_IN: Final = (ItemKind.RESERVED, ItemKind.GUARD, ItemKind.END)
_IMPORTED_IN: Final = (
    *(ItemKind.IMPORTED, ItemKind.IMPORTED_GUARD, ItemKind.IMPORTED_END),
)


@dataclass(frozen=True)
class _Item:
    """The attributes of all items."""

    project_id: str
    number: int
    fields: Mapping[str, Any]
    """All attributes as Python values; numbers are `Decimal`, or those of JSON."""
    kind: ItemKind
    chain: str
    """The hash; "" if it is missing or malformed."""

    @property
    def ticket_key(self) -> str:
        """The number's display form, such as `PROJ-42`."""
        return ticket_key(self.project_id, self.number)

    @property
    def status(self) -> str | None:
        """`reserved`, `voided`, `erased`, another program's value, or None."""
        status = self.fields.get(STATUS)
        return status if isinstance(status, str) else None

    @property
    def head(self) -> Head:
        """The item's head, on which the next ticket depends."""
        date = self.fields.get(ASSIGNED_AT)
        is_followed = ORIGIN not in self.fields and isinstance(date, str)
        return Head(self.number, date if is_followed else None, self.chain)

    @property
    def seed_end(self) -> int:
        """The last number of the item's seed; 0 without a seed."""
        return _seed_end(self.fields)

    @property
    def has_number(self) -> bool:
        """Whether its number is valid for a ticket."""
        return True

    @property
    def idempotency_key(self) -> str | None:
        """The key of the request; None for a reserved number."""
        return self.fields.get("idempotency_key")


@dataclass(frozen=True)
class Ticket(_Item):
    """A ticket, numbered here or imported."""

    @property
    def idempotency_key(self) -> str:
        """The key of the request."""
        key: str = self.fields["idempotency_key"]
        return key

    @property
    def key(self) -> RequestKey:
        """The key of the request, with the project."""
        return RequestKey(self.project_id, self.idempotency_key)

    @property
    def is_erased(self) -> bool:
        """Whether its text was erased."""
        return bool(self.fields.get(STATUS) == ERASED)

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of its text; "" if the text is malformed."""
        try:
            return stored_fingerprint(self.fields)
        except TypeError:
            return ""

    def having(self, fields: Mapping[str, Any]) -> "Ticket":
        """Return a copy with these attributes, for a command to write."""
        kind, chain = (
            _kind_of_ticket(fields, self.number),
            valid_chain(fields.get(CHAIN)),
        )
        return Ticket(self.project_id, self.number, fields, kind, chain)


@dataclass(frozen=True)
class Reserved(_Item):
    """A number without a ticket: external, or that of a lost ticket."""


@dataclass(frozen=True)
class Malformed(_Item):
    """A malformed item, which another program wrote."""

    @property
    def has_number(self) -> bool:
        """Whether its number is valid for a ticket; then the number is taken."""
        return has_number(self.number, self.fields)


Item = Ticket | Reserved | Malformed


def parse(fields: Mapping[str, Any]) -> Item:
    """Parse all attributes of an item of the table, or of an exported line."""
    project_id, number = fields["project_id"], int(fields[NUMBER])
    chain = valid_chain(fields.get(CHAIN))
    if has_number(number, fields):
        if fields.get(STATUS) == RESERVED:
            if ORIGIN in fields and _OF_A_TICKET.isdisjoint(fields):
                kind = _RESERVED_IN[_place_in_seed(fields, number)]
                if chain:
                    kind = ItemKind.LOST
                return Reserved(project_id, number, fields, kind, chain)
        elif is_request_key(project_id, fields.get("idempotency_key")):
            kind = _kind_of_ticket(fields, number)
            return Ticket(project_id, number, fields, kind, chain)
    return Malformed(project_id, number, fields, ItemKind.MALFORMED, chain)


def is_request_key(project_id: Any, idempotency_key: Any) -> bool:
    """Tell whether a request can have this key; other keys may be too long to read."""
    return _is_project_id(project_id) and is_idempotency_key(idempotency_key)


_is_project_id = lru_cache(is_project_id)  # A table has many items of each project.


def has_number(number: int, fields: Mapping[str, Any]) -> bool:
    """Tell whether an item's number, as an integer, is valid for a ticket."""
    return bool(fields[NUMBER] == number) and 1 <= number <= HIGHEST


def _kind_of_ticket(fields: Mapping[str, Any], number: int) -> ItemKind:
    if ORIGIN in fields:
        return _IMPORTED_IN[_place_in_seed(fields, number)]
    match fields.get(STATUS):
        case dynamodb_items.VOIDED:
            return ItemKind.VOIDED
        case dynamodb_items.ERASED:
            return ItemKind.ERASED
        case _:
            return ItemKind.NUMBERED


def _place_in_seed(fields: Mapping[str, Any], number: int) -> int:
    """Return 0 for a number without a seed, 1 for a guard, 2 for an end."""
    end = _seed_end(fields)
    return 0 if end < number else 1 if end > number else 2


def _seed_end(fields: Mapping[str, Any]) -> int:
    value = fields.get(RESERVED_UP_TO)
    if isinstance(value, Decimal | int | float) and not isinstance(value, bool):
        return int(value)
    return 0
