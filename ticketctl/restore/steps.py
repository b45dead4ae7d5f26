"""A step of a restore: the form of a number's item, and the record of its key."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from ticket_numbering.contract.dynamodb_items import (
    CALLERS,
    CHAIN,
    COMMITMENT,
    ERASED,
    EXTERNAL,
    IMPORTED_BY,
    NUMBER,
    ORIGIN,
    REASONS,
    RESERVED,
    RESERVED_UP_TO,
    SALT,
    SEED_ATTRIBUTES,
    STATUS,
    TIMES,
)
from ticketctl import PROGRAM
from ticketctl.ledger.chain import ERASED_TITLE, KEPT, own_commitment
from ticketctl.ledger.item import Item, ItemKind, Reserved, Ticket, parse

MARK: Final = "restore"
"""The reason of a number that an unfinished restore has reserved."""


class Form(StrEnum):
    """The form of a restored item."""

    NONE = ""
    """The tables' item stays."""
    WHOLE = "whole"
    """The unchanged item of the file."""
    EXTERNAL = "external"
    """An item of another system, without a hash."""


class Act(StrEnum):
    """The action of a transaction on the record of the key."""

    NONE = ""
    CHECK = "check"
    PUT = "put"


@dataclass(frozen=True)
class Step:
    """The step of the plan at a number."""

    form: Form = Form.NONE
    act: Act = Act.NONE
    record: Mapping[str, Any] | None = None
    """The record to put."""
    is_erased: bool = False
    """Whether the item is restored without its text, because it was erased since."""
    is_witnessed: bool = False
    """Whether the next ticket vouches for it, and must be unchanged."""
    reserves: int = 0
    """The end of the seed for which the next number is reserved; 0 without one."""
    is_made: bool = False
    """Whether the record is made from the ticket that is restored."""
    why: str = ""
    """The reason why a missing or different item is not written."""

    @property
    def is_due(self) -> bool:
        """Whether the step writes something."""
        return not self.why and (self.form != Form.NONE or self.act is Act.PUT)


NOTHING: Final = Step()


def refused(why: str) -> Step:
    """Return the step of a refused line."""
    return Step(why=why)


@dataclass(frozen=True)
class Terms:
    """The caller, the time and the program of a restore."""

    caller: str
    """The ARN of the caller."""
    retention_days: int
    now: str
    """The time of the restore, in the form of items."""
    program: str = PROGRAM
    """The program, for messages with a command."""

    def formed(self, step: Step, own: Item, there: Item | None) -> Item:
        """Return an item of the file in its restored form; it may lack its texts."""
        if step.is_erased and isinstance(own, Ticket):
            own = self.erased(own)
        fields = dict(own.fields)
        if step.form is Form.EXTERNAL:
            for name in (CHAIN, SALT, COMMITMENT):
                fields.pop(name, None)
            if isinstance(own, Ticket):
                fields |= {ORIGIN: EXTERNAL, IMPORTED_BY: self.caller}
        # The reserved end of a restore has no other meaning.
        is_kept = there and (there.kind is ItemKind.END or not is_mark(there))
        if there and is_kept and isinstance(own, Ticket) and ORIGIN in fields:
            seed = {
                name: there.fields[name] for name in SEED_ATTRIBUTES & {*there.fields}
            }
            fields = seed | fields if is_mark(there) else fields | seed
        item = parse(fields)
        if isinstance(item, Ticket) and isinstance(own, Ticket):
            vars(item)["fingerprint"] = own.fingerprint  # It may lack its texts.
        return item

    def result(self, own: Item | None, there: Item | None, step: Step) -> Item | None:
        """Return the final item of a number."""
        if step.form is Form.NONE or own is None:
            return there
        return self.formed(step, own, there)

    def reserved(
        self, project_id: str, number: int, end: int, **more: Any
    ) -> dict[str, Any]:
        """Return the reserved item of a number, for a seed up to an end."""
        return {
            "project_id": project_id,
            NUMBER: number,
            STATUS: RESERVED,
            ORIGIN: EXTERNAL,
            TIMES[RESERVED]: self.now,
            CALLERS[RESERVED]: self.caller,
            RESERVED_UP_TO: end,
            **more,
        }

    def erased(self, own: Ticket) -> Ticket:
        """Return a ticket without its text, like `erase`."""
        fields = {name: own.fields[name] for name in own.fields if name in KEPT}
        fields |= {
            "title": ERASED_TITLE,
            STATUS: ERASED,
            TIMES[ERASED]: self.now,
            REASONS[ERASED]: MARK,
            CALLERS[ERASED]: self.caller,
        }
        if own.chain:
            fields[COMMITMENT] = own_commitment(own)
        return own.having(fields)


def is_mark(item: Item | None) -> bool:
    """Return whether a number is the reserved end of an unfinished restore."""
    return isinstance(item, Reserved) and item.fields.get(REASONS[RESERVED]) == MARK
