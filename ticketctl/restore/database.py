"""The items of the file and of the tables in a temporary database, to save memory.

It has keys, hashes, marks, and the positions of the lines in the file, but no texts.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, NamedTuple, Self

from ticket_numbering.contract.dynamodb_items import CHAIN
from ticket_numbering.contract.messages import CONTENT_DEFAULTS, RequestKey
from ticketctl.aws.items import json_values
from ticketctl.ledger.chain import ERASED_TITLE
from ticketctl.ledger.item import Item, Ticket, parse
from ticketctl.restore.plan import COLUMNS, Plan
from ticketctl.restore.records import RECORDS, Records

_TABLES: Final = f"""
CREATE TABLE numbers (
    project_id TEXT,
    number INT,
    own TEXT,           -- The attributes of the file's item, without the texts.
    own_key TEXT,
    own_text TEXT,      -- The fingerprint of the texts.
    own_digest BLOB,    -- The digest of all attributes.
    line INT,
    place INT,          -- The offset of the line in the file, in bytes.
    size INT,
    there TEXT,         -- The attributes of the tables' item.
    there_key TEXT,
    there_text TEXT,
    there_digest BLOB,
    {COLUMNS},
    PRIMARY KEY (project_id, number)
) WITHOUT ROWID;
CREATE INDEX numbers_by_own_key ON numbers (project_id, own_key);
CREATE INDEX numbers_by_key_there ON numbers (project_id, there_key);
"""

SAME: Final = "own_digest = there_digest"
DIFFERENT: Final = "own_digest <> there_digest"
UNLIKE: Final = f"there IS NOT NULL AND ifnull({DIFFERENT}, 1)"
TICKET_THERE: Final = "there_key IS NOT NULL"
"""SQL conditions on a number."""

_TEXTS: Final = CONTENT_DEFAULTS.keys() - {"project_id", "idempotency_key", "priority"}
_SLOT: Final = f"number, own, own_text, there, there_text, {SAME}, ifnull(line, 0)"


def _put(of: str, *more: str) -> str:
    """Return the query that stores an item of the file or of the tables."""
    names = (of, f"{of}_key", f"{of}_text", f"{of}_digest", *more)
    return (
        f"INSERT INTO numbers (project_id, number, {', '.join(names)}) "
        f"VALUES (?, ?{', ?' * len(names)}) ON CONFLICT (project_id, number) "
        f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in names)}"
    )


_PUT_OWN: Final = _put("own", "line", "place", "size")
_PUT_THERE: Final = _put("there")


class Place(NamedTuple):
    """The position of a line in the file."""

    line: int
    offset: int
    size: int
    """Both in bytes."""


@dataclass(frozen=True)
class Slot:
    """A number with the items of the file and of the tables."""

    number: int
    own: Item | None = None
    there: Item | None = None
    is_same: bool = False
    line: int = 0

    @property
    def nearest(self) -> Item:
        """The likely final item of the number: the file's, or else the tables'."""
        nearest = self.own or self.there
        assert nearest  # noqa: S101 - A slot has one of them.
        return nearest


class Database:
    """A temporary database, which SQLite removes with the process."""

    def __init__(self) -> None:
        """Create the database and its tables."""
        # An empty name means a temporary file, in memory as long as it is small.
        self.sql = sqlite3.connect("", isolation_level=None)
        self.sql.executescript(f"PRAGMA journal_mode = OFF;{_TABLES}{RECORDS}BEGIN")
        self.records, self.plan = Records(self.sql), Plan(self.sql)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sql.close()

    def add_item(self, item: Item, place: Place | None = None) -> None:
        """Add an item of the tables, or of the file if it has a position there."""
        row = (
            *(item.project_id, item.number, _condensed(item.fields)),
            item.idempotency_key,
            item.fingerprint if isinstance(item, Ticket) else "",
            digest(item.fields),
        )
        self.sql.execute(_PUT_OWN if place else _PUT_THERE, (*row, *(place or ())))

    def remove_item(self, project_id: str, number: int) -> None:
        """Remove the tables' item of a number."""
        of = "project_id = ? AND number = ?"
        none = "there = NULL, there_key = NULL, there_digest = NULL"
        self.sql.execute(f"UPDATE numbers SET {none} WHERE {of}", (project_id, number))
        self.sql.execute(
            f"DELETE FROM numbers WHERE {of} AND own IS NULL", (project_id, number)
        )

    def projects(self) -> list[str]:
        """Return the projects of the file."""
        query = (
            "SELECT project_id FROM numbers WHERE own IS NOT NULL UNION "
            "SELECT project_id FROM records WHERE is_own ORDER BY 1"
        )
        return [project_id for (project_id,) in self.sql.execute(query)]

    def numbers(self, project_id: str, condition: str) -> Iterator[int]:
        """Yield a project's numbers that meet a condition, in ascending order."""
        query = (
            f"SELECT number FROM numbers WHERE project_id = ? AND {condition} "
            "ORDER BY number"
        )
        for (number,) in self.sql.execute(query, (project_id,)):
            yield number

    def has(self, project_id: str, condition: str) -> bool:
        """Return whether a number of a project meets a condition."""
        return any(self.numbers(project_id, condition))

    def last(self, project_id: str, *, is_own: bool) -> int:
        """Return a project's highest number; 0 if it has none."""
        of = f"{'own' if is_own else 'there'} IS NOT NULL"
        highest = self._slots(f"project_id = ? AND {of}", "DESC LIMIT 1", project_id)
        return next((slot.number for slot in highest), 0)

    def slots(self, project_id: str, above: int, count: int) -> list[Slot]:
        """Return the highest slots up to a number, in ascending order."""
        of = "project_id = ? AND number <= ?"
        return [*self._slots(of, "DESC LIMIT ?", project_id, above, count)][::-1]

    def slot(self, project_id: str, number: int) -> Slot:
        """Return the items of the file and of the tables at a number."""
        of = "project_id = ? AND number = ?"
        return next(self._slots(of, "", project_id, number), Slot(number))

    def neighbour(self, project_id: str, number: int, side: str) -> Item | None:
        """Return the tables' nearest item below (`<`) or above (`>`) a number."""
        of = f"project_id = ? AND number {side} ? AND there IS NOT NULL"
        order = "DESC LIMIT 1" if side == "<" else "ASC LIMIT 1"
        nearest = next(self._slots(of, order, project_id, number), None)
        return nearest.there if nearest else None

    def of_key(self, key: RequestKey) -> list[int]:
        """Return a key's numbers in the file and in the tables, the highest first."""
        query = (
            "SELECT number FROM numbers WHERE project_id = :p AND own_key = :k UNION "
            "SELECT number FROM numbers WHERE project_id = :p AND there_key = :k "
            "ORDER BY 1 DESC"
        )
        bounds = {"p": key.project_id, "k": key.idempotency_key}
        return [number for (number,) in self.sql.execute(query, bounds)]

    def kept_hash(self, project_id: str, number: int) -> dict[str, Any]:
        """Return the hash of a lost ticket right below another item.

        The tables' record of its key has the hash. Before a hole the number is only a
        guard, without a hash.
        """
        above = self.slot(project_id, number + 1)
        if not (above.own or above.there):
            return {}
        records = self.records.naming(project_id, number, is_own=False)
        hashes = [record.fields[CHAIN] for record in records if CHAIN in record.fields]
        return {CHAIN: hashes[0]} if hashes else {}

    def _slots(self, condition: str, order: str, *values: Any) -> Iterator[Slot]:
        query = f"SELECT {_SLOT} FROM numbers WHERE {condition} ORDER BY number {order}"
        for row in self.sql.execute(query, values):
            number, own, own_text, there, there_text, is_same, line = row
            yield Slot(
                *(number, _item(own, own_text), _item(there, there_text)),
                *(bool(is_same), line),
            )

    def place(self, project_id: str, number: int) -> tuple[Place, bytes]:
        """Return the position of a number in the file, and the digest of its item."""
        query = (
            "SELECT line, place, size, own_digest FROM numbers "
            "WHERE project_id = ? AND number = ?"
        )
        [(*place, own)] = self.sql.execute(query, (project_id, number))
        return Place(*place), own


def digest(fields: Mapping[str, Any]) -> bytes:
    """Return the digest of an item, equal for equal JSON values."""
    text = json.dumps(json_values(fields), sort_keys=True)
    return blake2b(text.encode(), digest_size=16).digest()


def _condensed(fields: Mapping[str, Any]) -> str:
    """Return the attributes of an item as JSON, with empty texts."""
    kept = {
        name: "" if name in _TEXTS and value != ERASED_TITLE else value
        for name, value in fields.items()
    }
    return json.dumps(json_values(kept))


def _item(fields: str | None, fingerprint: str) -> Item | None:
    """Return an item for the rules, with the fingerprint in place of the texts."""
    if fields is None:
        return None
    item = parse(json.loads(fields))
    if isinstance(item, Ticket):
        vars(item)["fingerprint"] = fingerprint  # Computed from the texts before.
    return item
