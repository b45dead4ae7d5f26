"""The plan of a restore: a step for each number, in its database."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from ticketctl.aws.items import json_values
from ticketctl.ledger.item import Item, ItemKind, parse
from ticketctl.ledger.sequence import guards_a_seed, is_given_here
from ticketctl.restore.steps import Act, Form, Step

COLUMNS: Final = """
    run INT,            -- The end of the number's run of external numbers, or itself.
    rank INT,           -- The order within a run: its end, its guards, the rest.
    step TEXT,          -- As JSON; its parts that conditions need:
    form TEXT,
    act TEXT,
    record_key TEXT,    -- Of the record to put.
    is_witnessed INT,
    why TEXT
"""
"""The columns of a step, in the table of numbers."""

_IS_BACK: Final = "why = '' AND form <> ''"
_IS_DUE: Final = f"why = '' AND (form <> '' OR act = '{Act.PUT}')"

VOUCHED: Final = f"{_IS_BACK} AND (act = '{Act.CHECK}' OR is_witnessed)"
"""The condition on a number that is restored because the tables vouch for it."""

OPEN: Final = (
    f"{_IS_DUE} AND act = '{Act.PUT}' AND NOT EXISTS ("
    "SELECT 1 FROM records WHERE is_own = 0 AND project_id = numbers.project_id "
    "AND idempotency_key = numbers.record_key)"
)
"""The condition on a number whose key has no record, and gets one."""

WAITS: Final = "waits"
"""The reason of numbers above a hole, which is printed once."""

OTHER: Final = "it is of another history"
"""The reason of numbers of another history, which is printed once for a project."""

_COUNTS: Final = {
    "items": "own IS NOT NULL",
    "missing": _IS_BACK,
    "refused": "why <> ''",
    "external": f"{_IS_BACK} AND form = '{Form.EXTERNAL}'",
    "due": _IS_DUE,
    "there": "own IS NOT NULL AND form = '' AND why = ''",
}


@dataclass(frozen=True)
class Plan:
    """The steps in a database."""

    sql: sqlite3.Connection

    def set_steps(
        self, project_id: str, steps: Iterable[tuple[int, tuple[int, int], Step]]
    ) -> None:
        """Store the steps of numbers, each with its run and rank."""
        query = (
            "UPDATE numbers SET run = ?, rank = ?, step = ?, form = ?, act = ?, "
            "record_key = ?, is_witnessed = ?, why = ? "
            "WHERE project_id = ? AND number = ?"
        )
        rows = (
            (
                *(*order, json.dumps(json_values(vars(step)))),
                *(step.form.value, step.act.value),
                step.record and step.record["idempotency_key"],
                *(step.is_witnessed, step.why, project_id, number),
            )
            for number, order, step in steps
        )
        self.sql.executemany(query, rows)

    def let_wait(self, project_id: str, number: int) -> None:
        """Let the due steps of a number and above it wait."""
        query = (
            "UPDATE numbers SET why = ? "
            f"WHERE project_id = ? AND number >= ? AND {_IS_DUE}"
        )
        self.sql.execute(query, (WAITS, project_id, number))

    def rising(self, project_id: str, last: int) -> Iterator[tuple[int, ItemKind]]:
        """Yield the restored numbers above one, with the kinds of the file's items.

        A hole remains one between two tickets that are restored without hashes.
        """
        condition = f"number > ? AND {_IS_BACK} ORDER BY number"
        for number, own in self._rows("number, own", condition, project_id, last):
            yield number, parse(json.loads(own)).kind

    def due(self, project_id: str) -> Iterator[tuple[int, Step]]:
        """Yield the due steps, in the order of the writes."""
        order = "run DESC, rank, number DESC"
        rows = self._rows("number, step", f"{_IS_DUE} ORDER BY {order}", project_id)
        for number, step in rows:
            yield number, _step(step)

    def step(self, project_id: str, number: int) -> Step:
        """Return the step of a number of the file."""
        [(step,)] = self._rows("step", "number = ?", project_id, number)
        return _step(step)

    def refusals(self, project_id: str) -> Iterator[tuple[int, int, str]]:
        """Yield line, number and reason of each refused line."""
        return self._rows(
            "ifnull(line, 0), number, why", "why <> '' ORDER BY line", project_id
        )

    def counts(self, project_id: str) -> dict[str, int]:
        """Return the counts of a project's lines, by their result."""
        sums = (f"ifnull(sum({condition}), 0)" for condition in _COUNTS.values())
        [row] = self._rows(", ".join(sums), "number", project_id)
        counts = dict(zip(_COUNTS, row, strict=True))
        counts["records"] = counts["due"] - counts["missing"]
        return counts

    def _rows(self, columns: str, condition: str, *values: Any) -> Iterator[Any]:
        query = f"SELECT {columns} FROM numbers WHERE project_id = ? AND {condition}"
        return self.sql.execute(query, values)


@dataclass
class Order:
    """The order of the writes: a run of external numbers begins with its end."""

    end: int = 0
    below: int = 0

    def place(self, number: int, item: Item) -> tuple[int, int]:
        """Return run and rank of a number, which is below the last one."""
        if is_given_here(item.kind):
            self.below = 0
            return number, 0
        if number != self.below:
            self.end = number
        self.below = number - 1
        is_end = number == self.end
        return self.end, 0 if is_end else 1 if guards_a_seed(item.kind) else 2


def _step(text: str) -> Step:
    fields = json.loads(text)
    kinds = {"form": Form(fields["form"]), "act": Act(fields["act"])}
    return Step(**fields | kinds)
