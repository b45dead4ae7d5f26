"""A plan: what is to be done at each number of a restore's database."""

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
    run INT,            -- The end of an unbroken run of external numbers, or its own.
    rank INT,           -- Within a run: its end, its guards, the rest.
    form TEXT,
    act TEXT,
    record TEXT,
    is_erased INT,
    is_witnessed INT,
    reserves INT,
    why TEXT
"""
"""Those of a step, in the table of numbers."""

_DEED: Final = "form, act, record, is_erased, is_witnessed, reserves, why"
_IS_BACK: Final = "why = '' AND form <> ''"
_IS_DUE: Final = f"why = '' AND (form <> '' OR act = '{Act.PUT}')"

VOUCHED: Final = f"{_IS_BACK} AND (act = '{Act.CHECK}' OR is_witnessed)"
"""The condition on a number that goes back because the tables vouch for it."""

OPEN: Final = (
    f"{_IS_DUE} AND act = '{Act.PUT}' AND NOT EXISTS ("
    "SELECT 1 FROM records WHERE is_own = 0 AND project_id = numbers.project_id "
    "AND idempotency_key = json_extract(record, '$.idempotency_key'))"
)
"""The condition on a number whose key gets a record, and has none."""

WAITS: Final = "waits"
"""Why nothing is done at a number above a hole, which is named once."""

OTHER: Final = "it is of another history"
"""Of a project such numbers are named once, too."""

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
    """The steps of a database."""

    sql: sqlite3.Connection

    def set_steps(
        self, project_id: str, steps: Iterable[tuple[int, tuple[int, int], Step]]
    ) -> None:
        """Keep what is to be done at numbers, each with its run and rank."""
        rows = [
            (
                *(*order, step.form.value, step.act.value),
                json.dumps(json_values(step.record)) if step.record else None,
                *(step.is_erased, step.is_witnessed, step.reserves, step.why),
                *(project_id, number),
            )
            for number, order, step in steps
        ]
        columns = f"run, rank, {_DEED}".split(", ")
        query = (
            f"UPDATE numbers SET {', '.join(f'{name} = ?' for name in columns)} "
            "WHERE project_id = ? AND number = ?"
        )
        self.sql.executemany(query, rows)

    def let_wait(self, project_id: str, number: int) -> None:
        """Let a number, and all that is due above it, wait."""
        query = (
            "UPDATE numbers SET why = ? "
            f"WHERE project_id = ? AND number >= ? AND {_IS_DUE}"
        )
        self.sql.execute(query, (WAITS, project_id, number))

    def rising(self, project_id: str, last: int) -> Iterator[tuple[int, ItemKind]]:
        """Yield the numbers above one that go back, with the kinds of the file's items.

        Between two tickets that come back without their hashes a hole is still one.
        """
        condition = f"number > ? AND {_IS_BACK} ORDER BY number"
        for number, own in self._rows("number, own", condition, project_id, last):
            yield number, parse(json.loads(own)).kind

    def due(self, project_id: str) -> Iterator[tuple[int, Step]]:
        """Yield what is to be done, in the order of the writes."""
        order = "run DESC, rank, number DESC"
        rows = self._rows(f"number, {_DEED}", f"{_IS_DUE} ORDER BY {order}", project_id)
        for number, *columns in rows:
            yield number, _step(*columns)

    def step(self, project_id: str, number: int) -> Step:
        """Return the step of a number of the file."""
        [columns] = self._rows(_DEED, "number = ?", project_id, number)
        return _step(*columns)

    def refusals(self, project_id: str) -> Iterator[tuple[int, int, str]]:
        """Yield line, number and reason of what is refused."""
        return self._rows(
            "ifnull(line, 0), number, why", "why <> '' ORDER BY line", project_id
        )

    def counts(self, project_id: str) -> dict[str, int]:
        """Return counts of a project's lines, by what is done."""
        filters = (f"count(*) FILTER (WHERE {one})" for one in _COUNTS.values())
        [row] = self._rows(", ".join(filters), "number", project_id)
        counts = dict(zip(_COUNTS, row, strict=True))
        counts["records"] = counts["due"] - counts["missing"]
        return counts

    def _rows(self, columns: str, condition: str, *values: Any) -> Iterator[Any]:
        query = f"SELECT {columns} FROM numbers WHERE project_id = ? AND {condition}"
        return self.sql.execute(query, values)


@dataclass
class Order:
    """The order of the writes: an unbroken run of external numbers from its end."""

    end: int = 0
    below: int = 0

    def place(self, number: int, item: Item) -> tuple[int, int]:
        """Return the place of a number below the last one: end, guards, the rest."""
        if is_given_here(item.kind):
            self.below = 0
            return number, 0
        if number != self.below:
            self.end = number
        self.below = number - 1
        is_end = number == self.end
        return self.end, 0 if is_end else 1 if guards_a_seed(item.kind) else 2


def _step(form: str, act: str, record: str | None, *rest: Any) -> Step:
    is_erased, is_witnessed, reserves, why = rest
    return Step(
        *(Form(form), Act(act), json.loads(record) if record else None),
        *(bool(is_erased), bool(is_witnessed), reserves),
        why=why,
    )
