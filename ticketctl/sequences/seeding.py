"""Seeds a sequence: numbers up to one were used elsewhere, the next one follows it.

The worker takes a project's highest number plus one, so an item at the last number
used elsewhere is enough for whoever reads after it. It is not for a worker that read
before and is about to write: it would give the number after the one it read.
So the very transaction that puts the last number takes the next `GUARD_NUMBERS`, too,
and once it is committed a second one, the seal, takes those that follow them.
`docs/seeding.md` says why, and what is left open while a project is being numbered.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from ticketctl.cli.errors import InputError
from ticketctl.sequences.sequences import (
    given_between,
    highest_below,
    item_at,
    item_from,
    last_number,
)
from ticketctl.sequences.timestamps import timestamp
from ticketctl.sequences.transactions import MAX_ACTIONS, Pace, Put, transact
from ticketctl.system.items import ELSEWHERE, RESERVED, Ticket
from ticketctl.system.stack import System

GUARD_NUMBERS: Final = MAX_ACTIONS - 1
"""Numbers that are taken besides the last one.

A worker tries at most 50 numbers at once, and reads again after two collisions in a
row; the first try begins at the guard's first number at the latest, and so each try
overlaps the guard.
"""

LAST: Final = "last"
GUARD: Final = "guard"
SEAL: Final = "seal"
"""A reserved item's `reserved_as`: why this number."""


@dataclass(frozen=True)
class Seeded:
    """Where a sequence stands once it is seeded."""

    project_id: str
    before: int
    """Its last number before; what it is now, if it was seeded already."""
    last: int
    was_already: bool = False
    given_within: tuple[int, ...] = ()
    """Numbers that workers gave while it was being seeded."""


@dataclass(frozen=True)
class Seed:
    """Numbers up to `last` were used elsewhere."""

    stack: System
    project_id: str
    last: int
    reason: str = ""
    pace: Pace = field(default_factory=Pace)

    def plant(self) -> Seeded:
        """Let the sequence go on after the last number; call it again if it fails.

        Raises:
            InputError: The sequence is past it.
            BusyError: Workers kept taking the number after the last.
        """
        busy = f"{self.project_id}: others kept taking the next number"
        before, was_already = self.pace.until(self._jump, busy)
        sealed_from = self.pace.until(self._seal, busy)
        within = given_between(self.stack, self.project_id, before, sealed_from)
        return Seeded(self.project_id, before, self.last, was_already, within)

    def _jump(self) -> tuple[int, bool] | None:
        """Return the last number before, and whether it was seeded already."""
        before = last_number(self.stack, self.project_id)
        if before >= self.last:
            self._check_seeded(before)
            return before, True
        guard = guard_numbers(before, self.last)
        items = [*self._items(guard, GUARD), *self._items([self.last], LAST)]
        return None if self._refused(items) else (before, False)

    def _seal(self) -> int | None:
        """Take what follows the guard, and return where that begins.

        A Query can see the middle of a transaction: the guard, and not the last number.
        Who saw that goes on with the number after the guard, until this is done.
        """
        below = highest_below(self.stack, self.project_id, self.last)
        start = below.number + 1 if below else 1
        if start == self.last:
            return start
        if below and below.fields.get("reserved_as") == SEAL:
            return max(1, start - MAX_ACTIONS)
        numbers = range(start, min(start + MAX_ACTIONS, self.last))
        return None if self._refused([*self._items(numbers, SEAL)]) else start

    def _check_seeded(self, highest: int) -> None:
        """Tell an earlier seed up to the same number from a step back.

        The answer to this very seed may have been lost, and workers may have gone on.

        Raises:
            InputError: It would be a step back.
        """
        there = item_at(self.stack, self.project_id, self.last)
        above = item_from(self.stack, self.project_id, self.last + 1)
        is_within = above is not None and above.is_from_elsewhere
        if there and _may_be_end(there) and not is_within:
            return
        message = (
            f"{self.project_id} has numbers up to {highest} already; "
            f"a sequence only goes on, so give a number above {highest}"
        )
        raise InputError(message)

    def _items(self, numbers: Iterable[int], use: str) -> Iterator[dict[str, Any]]:
        """Return items that stand for numbers used elsewhere."""
        now = timestamp()
        why = {"reserved_reason": {"S": self.reason}} if self.reason else {}
        for number in numbers:
            yield {
                "project_id": {"S": self.project_id},
                "number": {"N": str(number)},
                "status": {"S": RESERVED},
                "origin": {"S": ELSEWHERE},
                "reserved_as": {"S": use},
                "reserved_at": {"S": now},
                **why,
            }

    def _refused(self, items: Iterable[dict[str, Any]]) -> bool:
        put = partial(_put, self.stack.outputs["TicketsTableName"])
        puts = [put(item) for item in items]
        return bool(transact(self.stack.client("dynamodb"), puts))


def guard_numbers(before: int, last: int) -> Sequence[int]:
    """Return the numbers to take together with the last one."""
    return range(before + 1, min(before + 1 + GUARD_NUMBERS, last))


def _may_be_end(item: Ticket) -> bool:
    """Return whether a seed may have been up to it: guards and seals lie below."""
    is_last = item.fields.get("reserved_as") == LAST
    return item.is_from_elsewhere and (is_last or item.status != RESERVED)


def _put(table: str, item: dict[str, Any]) -> Put:
    return {
        "TableName": table,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(project_id)",
    }
