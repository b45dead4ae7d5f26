"""What the file and the tables have, in a temporary database: memory does not grow.

It has keys, hashes and marks, and the places of the lines in the file, but no texts.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final, Self

from ticket_numbering.contract.dynamodb_items import CHAIN, key_id, key_of_id
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.messages import CONTENT_DEFAULTS, RequestKey
from ticketctl.aws.items import json_values
from ticketctl.ledger.chain import ERASED_TITLE
from ticketctl.ledger.item import Item, ItemKind, Ticket, parse
from ticketctl.ledger.record import KeyRecord, MalformedRecord, Record
from ticketctl.ledger.sequence import is_given_here
from ticketctl.restore.deeds import Act, Deed, Form

_TABLES: Final = """
CREATE TABLE items (
    is_own INT,         -- Of the file; else of the tables.
    project_id TEXT,
    number INT,
    idempotency_key TEXT,
    fields TEXT,        -- Without the texts.
    fingerprint TEXT,   -- Of the texts.
    digest BLOB,        -- Of all.
    line INT,
    place INT,          -- Of the line in the file, in bytes.
    size INT,
    PRIMARY KEY (is_own, project_id, number)
) WITHOUT ROWID;
CREATE INDEX items_by_key ON items (project_id, idempotency_key);
CREATE TABLE records (
    is_own INT,
    project_id TEXT,
    idempotency_key TEXT,
    number INT,
    fields TEXT,
    line INT,
    PRIMARY KEY (is_own, project_id, idempotency_key)
) WITHOUT ROWID;
CREATE INDEX records_by_number ON records (project_id, number);
CREATE TABLE deeds (
    project_id TEXT,
    number INT,
    run INT,            -- The end of an unbroken run of external numbers, or its own.
    rank INT,           -- Within a run: its end, its guards, the rest.
    form TEXT,
    act TEXT,
    record TEXT,
    is_witnessed INT,
    reserves INT,
    why TEXT,
    PRIMARY KEY (project_id, number)
) WITHOUT ROWID;
"""

_TEXTS: Final = CONTENT_DEFAULTS.keys() - {"project_id", "idempotency_key", "priority"}

_ADD_ITEM: Final = "REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ITEM: Final = "fields, fingerprint, digest, line"
_IS_DUE: Final = f"why = '' AND (form <> '' OR act = '{Act.PUT}')"
_DEED: Final = "form, act, record, is_witnessed, reserves, why"


WAITS: Final = "waits"
"""Why nothing is done at a number above a hole, which is named once."""


@dataclass(frozen=True)
class Place:
    """Where a line is in the file."""

    line: int = 0
    offset: int = 0
    size: int = 0
    """Both in bytes."""


@dataclass(frozen=True)
class Slot:
    """A number, with what the file and the tables have there."""

    number: int
    own: Item | None = None
    there: Item | None = None
    is_same: bool = False
    line: int = 0

    @property
    def nearest(self) -> Item:
        """What may stand there in the end: the file's, or else the tables'."""
        item = self.own or self.there
        assert item  # noqa: S101 - A slot has one of them.
        return item


class Database:
    """A database of its own, which SQLite removes with the process."""

    def __init__(self) -> None:
        """Create its tables."""
        # The empty name: a temporary file, and in memory as long as it is small.
        self.sql = sqlite3.connect("", isolation_level=None)
        self.sql.executescript(f"PRAGMA journal_mode = OFF;{_TABLES}BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sql.close()

    def add_item(self, item: Item, place: Place | None = None) -> None:
        """Add an item of the tables, or of the file if it has a place there."""
        at = place or Place()
        row = (
            *(int(place is not None), item.project_id, item.number),
            *(item.idempotency_key, _condensed(item.fields)),
            item.fingerprint if isinstance(item, Ticket) else "",
            *(digest(item.fields), at.line, at.offset, at.size),
        )
        self.sql.execute(_ADD_ITEM, row)

    def remove_item(self, project_id: str, number: int) -> None:
        """Forget what the tables had at a number."""
        query = "DELETE FROM items WHERE is_own = 0 AND project_id = ? AND number = ?"
        self.sql.execute(query, (project_id, number))

    def add_record(self, record: Record, line: int = 0) -> None:
        """Add a record of the tables, or of the file if it has a line there.

        A malformed one names 0.
        """
        row: tuple[object, ...] = *key_of_id(record.record_id), 0, None
        if isinstance(record, KeyRecord):
            fields = json.dumps(json_values(record.fields))
            row = *record.key, record.number, fields
        query = "REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?)"
        self.sql.execute(query, (int(line > 0), *row, line))

    def remove_record(self, key: RequestKey) -> None:
        """Forget the record that the tables had of a key."""
        of = "is_own = 0 AND project_id = ? AND idempotency_key = ?"
        self.sql.execute(f"DELETE FROM records WHERE {of}", key)  # noqa: S608

    def number(self, query: str, *values: Any) -> int:
        """Return the one number of an answer; 0 for null."""
        [(value,)] = self.sql.execute(query, values)
        return int(value or 0)

    def projects(self) -> list[str]:
        """Return the projects of the file."""
        both = "SELECT project_id FROM {} WHERE is_own = 1"
        query = f"{both.format('items')} UNION {both.format('records')} ORDER BY 1"
        return [project_id for (project_id,) in self.sql.execute(query)]

    def last(self, project_id: str, *, is_own: bool) -> int:
        """Return a project's highest number; 0 if it has none."""
        query = "SELECT max(number) FROM items WHERE is_own = ? AND project_id = ?"
        return self.number(query, int(is_own), project_id)

    def slots(self, project_id: str, above: int, count: int) -> list[Slot]:
        """Return the highest slots up to a number, in ascending order."""
        one = (
            "SELECT * FROM (SELECT number FROM items WHERE is_own = {} "
            "AND project_id = :p AND number <= :n ORDER BY number DESC LIMIT :c)"
        )
        numbers = f"{one.format(0)} UNION {one.format(1)} ORDER BY 1 DESC LIMIT :c"
        bounds = {"p": project_id, "n": above, "c": count}
        given = [number for (number,) in self.sql.execute(numbers, bounds)][::-1]
        return self.slots_of(project_id, given)

    def slots_of(self, project_id: str, numbers: Sequence[int]) -> list[Slot]:
        """Return the slots of numbers in ascending order."""
        return [self.slot(project_id, number) for number in numbers]

    def slot(self, project_id: str, number: int) -> Slot:
        """Return what the file and the tables have at a number."""
        query = (
            f"SELECT is_own, {_ITEM} FROM items "  # noqa: S608
            "WHERE is_own IN (0, 1) AND project_id = ? AND number = ?"
        )
        slot, digests = Slot(number), set[bytes]()
        for is_own, *row, line in self.sql.execute(query, (project_id, number)):
            digests.add(row[2])
            item = _item(*row[:2])
            slot = (
                replace(slot, own=item, line=line)
                if is_own
                else replace(slot, there=item)
            )
        is_same = len(digests) == 1 and None not in (slot.own, slot.there)
        return replace(slot, is_same=is_same)

    def neighbour(self, project_id: str, number: int, side: str) -> Item | None:
        """Return the tables' nearest item below (`<`) or above (`>`) a number."""
        order = "DESC" if side == "<" else "ASC"
        query = (
            "SELECT fields, fingerprint FROM items "  # noqa: S608
            f"WHERE is_own = 0 AND project_id = ? AND number {side} ? "
            f"ORDER BY number {order} LIMIT 1"
        )
        row = self.sql.execute(query, (project_id, number)).fetchone()
        return row and _item(*row)

    def line(self, project_id: str, number: int) -> int:
        """Return the line in which the file has a number; 0 without one."""
        query = (
            "SELECT line FROM items WHERE is_own = 1 AND project_id = ? AND number = ?"
        )
        row = self.sql.execute(query, (project_id, number)).fetchone()
        return int(row[0]) if row else 0

    def place(self, project_id: str, number: int) -> tuple[Place, bytes]:
        """Return where the file has a number, and the digest of its item."""
        query = (
            "SELECT line, place, size, digest FROM items "
            "WHERE is_own = 1 AND project_id = ? AND number = ?"
        )
        [(*place, own)] = self.sql.execute(query, (project_id, number))
        return Place(*place), own

    def record(self, key: RequestKey) -> Record | None:
        """Return the tables' record of a key."""
        query = (
            "SELECT fields FROM records "
            "WHERE is_own = 0 AND project_id = ? AND idempotency_key = ?"
        )
        row = self.sql.execute(query, key).fetchone()
        if row is None:
            return None
        return _record(row[0]) if row[0] else MalformedRecord(key_id(key))

    def naming(
        self, project_id: str, number: int, *, is_own: bool
    ) -> Iterator[KeyRecord]:
        """Yield the records that name a number, of the file or the tables."""
        of = "project_id = ? AND number = ? AND is_own = ?"
        return self._records(of, project_id, number, int(is_own))

    def kept_hash(self, project_id: str, number: int) -> dict[str, Any]:
        """Return the hash of a lost ticket right below another item.

        It is that of the tables' record of its key. In front of a hole the number only
        guards it, and has no hash.
        """
        above = self.slot(project_id, number + 1)
        if not (above.own or above.there):
            return {}
        records = self.naming(project_id, number, is_own=False)
        hashes = [record.fields[CHAIN] for record in records if CHAIN in record.fields]
        return {CHAIN: hashes[0]} if hashes else {}

    def records(self, project_id: str, *, is_own: bool) -> Iterator[KeyRecord]:
        """Yield the records of a project."""
        of = "project_id = ? AND is_own = ?"
        return self._records(of, project_id, int(is_own))

    def _records(self, condition: str, *values: Any) -> Iterator[KeyRecord]:
        query = f"SELECT fields FROM records WHERE number AND {condition}"  # noqa: S608
        for (fields,) in self.sql.execute(query, values):
            yield _record(fields)

    def differing(self, project_id: str) -> list[int]:
        """Return the numbers of which both have an item, and not the same."""
        query = (
            "SELECT number FROM items AS own JOIN items AS there "
            "USING (project_id, number) WHERE own.is_own = 1 AND there.is_own = 0 "
            "AND own.digest <> there.digest AND project_id = ? ORDER BY number"
        )
        return self._numbers(query, project_id)

    def shares(self, project_id: str) -> bool:
        """Return whether both have the same item of a number."""
        query = (
            "SELECT number FROM items AS own JOIN items AS there "
            "USING (project_id, number) WHERE own.is_own = 1 AND there.is_own = 0 "
            "AND own.digest = there.digest AND project_id = ? LIMIT 1"
        )
        return bool(self._numbers(query, project_id))

    def only_there(self, project_id: str, last: int) -> list[int]:
        """Return the numbers up to one that the tables have and the file lacks."""
        query = (
            "SELECT number FROM items AS there WHERE is_own = 0 AND project_id = ? "
            "AND number <= ? AND NOT EXISTS (SELECT 1 FROM items WHERE is_own = 1 "
            "AND project_id = there.project_id AND number = there.number)"
        )
        return self._numbers(query, project_id, last)

    def has_tickets(self, project_id: str) -> bool:
        """Return whether the tables have a ticket of a project."""
        query = (
            "SELECT number FROM items WHERE is_own = 0 AND project_id = ? "
            "AND idempotency_key IS NOT NULL LIMIT 1"
        )
        return bool(self._numbers(query, project_id))

    def _numbers(self, query: str, *values: Any) -> list[int]:
        return [number for (number,) in self.sql.execute(query, values)]

    def rising(self, project_id: str, last: int) -> Iterator[tuple[int, ItemKind]]:
        """Yield the numbers above one that go back, with the kinds of the items."""
        query = (
            "SELECT number, fields, form FROM deeds JOIN items "
            "USING (project_id, number) WHERE is_own = 1 AND project_id = ? "
            "AND number > ? AND form <> '' AND why = '' ORDER BY number"
        )
        for number, fields, form in self.sql.execute(query, (project_id, last)):
            kind = parse(json.loads(fields)).kind
            if form == Form.EXTERNAL and is_given_here(kind):
                kind = ItemKind.IMPORTED
            yield number, kind

    def is_vouched(self, project_id: str) -> bool:
        """Return whether the tables vouch for something that goes back."""
        query = (
            "SELECT number FROM deeds WHERE project_id = ? AND why = '' "
            "AND form <> '' AND (act = 'check' OR is_witnessed) LIMIT 1"
        )
        return bool(self._numbers(query, project_id))

    def let_wait(self, project_id: str, number: int) -> None:
        """Let a number, and all that is due above it, wait."""
        query = (
            "UPDATE deeds SET why = ? "  # noqa: S608
            f"WHERE project_id = ? AND number >= ? AND {_IS_DUE}"
        )
        self.sql.execute(query, (WAITS, project_id, number))

    def of_key(self, key: RequestKey) -> set[int]:
        """Return the numbers of a key, in the file and in the tables."""
        query = (
            "SELECT DISTINCT number FROM items "
            "WHERE project_id = ? AND idempotency_key = ?"
        )
        return {number for (number,) in self.sql.execute(query, key)}

    def set_deeds(
        self, project_id: str, deeds: Iterable[tuple[int, tuple[int, int], Deed]]
    ) -> None:
        """Keep the deeds at numbers, each with its run and rank."""
        rows = [
            (
                *(project_id, number, *order, deed.form.value, deed.act.value),
                json.dumps(json_values(deed.record)) if deed.record else None,
                *(int(deed.is_witnessed), deed.reserves, deed.why),
            )
            for number, order, deed in deeds
        ]
        marks = ", ".join("?" * 10)
        self.sql.executemany(f"REPLACE INTO deeds VALUES ({marks})", rows)  # noqa: S608

    def due(self, project_id: str) -> Iterator[tuple[int, Deed]]:
        """Yield the deeds, in the order of the writes."""
        return self.deeds(project_id, _IS_DUE)

    def deeds(self, project_id: str, condition: str) -> Iterator[tuple[int, Deed]]:
        """Yield deeds in the order of the writes."""
        order = "run DESC, rank, number DESC"
        query = (
            f"SELECT number, {_DEED} FROM deeds WHERE project_id = ? "  # noqa: S608
            f"AND {condition} ORDER BY {order}"
        )
        for number, form, act, record, *rest in self.sql.execute(query, (project_id,)):
            fields = json.loads(record) if record else None
            is_witnessed, reserves, why = rest
            witnessed = bool(is_witnessed)
            yield (
                number,
                Deed(Form(form), Act(act), fields, witnessed, reserves, why=why),
            )

    def deed(self, project_id: str, number: int) -> Deed:
        """Return the deed of a number of the file."""
        [(_, deed)] = self.deeds(project_id, f"number = {int(number)}")
        return deed

    def refusals(self, project_id: str) -> Iterator[tuple[int, str, str]]:
        """Yield line, ticket key and reason of each refusal."""
        query = (
            "SELECT ifnull(line, 0), number, why FROM deeds LEFT JOIN items "
            "USING (project_id, number) WHERE ifnull(is_own, 1) AND project_id = ? "
            "AND why <> '' ORDER BY line"
        )
        for line, number, why in self.sql.execute(query, (project_id,)):
            yield line, ticket_key(project_id, number), why

    def records_left(self, project_id: str) -> Iterator[tuple[int, KeyRecord, bool]]:
        """Yield the file's records that go back with no item, with their lines.

        Of such a number there is no item, or the file has the ticket of another key:
        the last value.
        """
        of = "project_id = kept.project_id AND number = kept.number"
        query = (
            "SELECT line, fields, EXISTS (SELECT 1 FROM items WHERE is_own = 1 "  # noqa: S608
            f"AND {of} AND idempotency_key <> kept.idempotency_key) AS is_other "
            "FROM records AS kept WHERE is_own = 1 AND project_id = ? "
            f"AND (is_other OR NOT EXISTS (SELECT 1 FROM items WHERE {of})) "
            f"AND NOT EXISTS (SELECT 1 FROM records WHERE is_own = 0 AND {of} "
            "AND idempotency_key = kept.idempotency_key) ORDER BY line"
        )
        for line, fields, is_other in self.sql.execute(query, (project_id,)):
            yield line, _record(fields), bool(is_other)

    def counts(self, project_id: str) -> dict[str, int]:
        """Return counts of a project's lines, by deed."""
        query = (
            "SELECT count(*) FILTER (WHERE why = '' AND form <> ''), "
            "count(*) FILTER (WHERE why <> ''), "
            "count(*) FILTER (WHERE why = '' AND form = 'external'), "
            "count(*) FILTER (WHERE why = '' AND form = '' AND act = 'put'), "
            "(SELECT count(*) FROM items WHERE is_own = 1 AND project_id = :p) "
            "FROM deeds WHERE project_id = :p"
        )
        [(missing, refused, external, records, items)] = self.sql.execute(
            query, {"p": project_id}
        )
        return {
            "items": items,
            "missing": missing,
            "refused": refused,
            "external": external,
            "records": records,
            "due": missing + records,
            "there": items - missing - refused,
        }

    def is_open(self, project_id: str) -> bool:
        """Return whether a key of what goes back has no record in the tables."""
        return any(
            deed.act is Act.PUT
            and deed.record
            and self.record(key_of_id(str(deed.record["id"]))) is None
            for _, deed in self.due(project_id)
        )


def _record(text: str) -> KeyRecord:
    fields = json.loads(text)
    key = fields["project_id"], fields["idempotency_key"]
    return KeyRecord(*key, int(fields["number"]), fields)


def digest(fields: Mapping[str, Any]) -> bytes:
    """Return a digest of an item, equal for equal values of JSON."""
    text = json.dumps(json_values(fields), sort_keys=True)
    return blake2b(text.encode(), digest_size=16).digest()


def _condensed(fields: Mapping[str, Any]) -> str:
    """Return the attributes of an item, where texts are empty."""
    kept = {
        name: "" if name in _TEXTS and value != ERASED_TITLE else value
        for name, value in fields.items()
    }
    return json.dumps(json_values(kept))


def _item(fields: str, fingerprint: str) -> Item:
    """Return an item as its rules see it: its texts are known by the fingerprint."""
    item = parse(json.loads(fields))
    if isinstance(item, Ticket):
        vars(item)["fingerprint"] = fingerprint  # What it would compute.
    return item
