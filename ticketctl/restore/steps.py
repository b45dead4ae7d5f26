"""What a restore does at one number: the form of the item, and the key's record."""

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
"""The reason of a number that a restore at work has reserved."""


class Form(StrEnum):
    """The form in which an item goes back."""

    NONE = ""
    """The item that is there stays."""
    WHOLE = "whole"
    """As the file has it."""
    EXTERNAL = "external"
    """As of another system, without its hash."""


class Act(StrEnum):
    """What a transaction does with the record of the key."""

    NONE = ""
    CHECK = "check"
    PUT = "put"


@dataclass(frozen=True)
class Step:
    """The step at a number."""

    form: Form = Form.NONE
    act: Act = Act.NONE
    record: Mapping[str, Any] | None = None
    """The record to put."""
    is_erased: bool = False
    """Whether the item goes back without its text, for it was erased since."""
    is_witnessed: bool = False
    """Whether the next ticket vouches for it, and must be as it was."""
    reserves: int = 0
    """The end of the seed for which the next number is reserved, too; 0 without one."""
    is_made: bool = False
    """Whether the record is made from the ticket."""
    why: str = ""
    """Why nothing is done, although something is missing or different."""

    @property
    def is_due(self) -> bool:
        """Whether something is written."""
        return not self.why and (self.form != Form.NONE or self.act is Act.PUT)


NOTHING: Final = Step()


def refused(why: str) -> Step:
    """Return the step of a line that does not come back."""
    return Step(why=why)


@dataclass(frozen=True)
class Terms:
    """The terms of a restore: its caller, and its time."""

    caller: str
    """The ARN of the caller."""
    retention_days: int
    now: str
    """As an item has times."""
    program: str = PROGRAM
    """For messages with a command."""

    def formed(self, step: Step, own: Item, there: Item | None) -> Item:
        """Return an item of the file in the form in which it goes back.

        Args:
            step: The step, which has a form.
            own: The item, with or without its texts.
            there: The item whose place it takes.
        """
        if step.is_erased and isinstance(own, Ticket):
            own = self.erased(own)
        fields = dict(own.fields)
        if step.form is Form.EXTERNAL:
            for name in (CHAIN, SALT, COMMITMENT):
                fields.pop(name, None)
            if isinstance(own, Ticket):
                fields |= {ORIGIN: EXTERNAL, IMPORTED_BY: self.caller}
        # A restore's own mark says nothing but where the sequence ends.
        is_kept = there and (there.kind is ItemKind.END or not is_mark(there))
        if there and is_kept and isinstance(own, Ticket) and ORIGIN in fields:
            seed = {
                name: there.fields[name] for name in SEED_ATTRIBUTES & {*there.fields}
            }
            fields = seed | fields if is_mark(there) else fields | seed
        item = parse(fields)
        if isinstance(item, Ticket) and isinstance(own, Ticket):
            vars(item)["fingerprint"] = own.fingerprint  # Its texts may be elsewhere.
        return item

    def result(self, own: Item | None, there: Item | None, step: Step) -> Item | None:
        """Return the item that a number has in the end."""
        if step.form is Form.NONE or own is None:
            return there
        return self.formed(step, own, there)

    def reserved(
        self, project_id: str, number: int, end: int, **more: Any
    ) -> dict[str, Any]:
        """Return the item of a number that a seed up to an end reserves."""
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
        """Return a ticket as `erase` leaves it."""
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
    """Return whether a restore has reserved a number that is still to be put back."""
    return isinstance(item, Reserved) and item.fields.get(REASONS[RESERVED]) == MARK
