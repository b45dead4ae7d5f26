"""The items that an audit has read, in a database, so that memory does not grow."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple, Self

from ticket_numbering.contract.dynamodb_items import STATUS, VOIDED
from ticketctl.ledger.agreement import Shared, of_record, of_ticket
from ticketctl.ledger.findings import FindingKind, Range
from ticketctl.ledger.item import Item, ItemKind, Reserved, Ticket, TicketId
from ticketctl.ledger.record import KeyRecord
from ticketctl.ledger.sequence import guards_a_seed, hole, is_given_here

_TABLE: Final = """
CREATE TABLE items (
    project_id TEXT,
    number INTEGER,
    kind TEXT,
    digest BLOB,      -- The digest of the fields that its key's record has, too.
    is_judged INT,    -- The chain judges its text, and the record need not confirm it.
    is_matched INT,   -- Its key's record agrees, or may be absent.
    is_chained INT,   -- It has a hash.
    is_voided INT,
    is_imported INT,
    is_reserved INT,
    seed_end INT,     -- Only for a guard.
    PRIMARY KEY (project_id, number)
) WITHOUT ROWID;
"""

# Nothing is rolled back, and no other process reads the file. The cache is fixed at
# 8 MB, although records come unordered, and each changes a row.
_SETTINGS: Final = "PRAGMA journal_mode = OFF; PRAGMA cache_size = -8000;"

_ADD: Final = "REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

# The number before the first is 0, or the last that was not read: so a sequence that
# starts at 2 lacks a number.
_HOLES: Final = """
SELECT before + 1, number - 1, kind_before, kind FROM (
    SELECT number, kind, lag(number, 1, ?) OVER upwards AS before,
        lag(kind) OVER upwards AS kind_before
    FROM items WHERE project_id = ? WINDOW upwards AS (ORDER BY number)
) WHERE number > before + 1
"""

_UNCHAINED: Final = """
SELECT min(number), max(number) FROM (
    SELECT number, is_chained, sum(is_chained) OVER (ORDER BY number) AS segment
    FROM items WHERE project_id = ?
) WHERE NOT is_chained GROUP BY segment
"""

_ENDS: Final = """
SELECT number FROM (
    SELECT number, is_chained AND kind <> 'lost' AS is_link,
        lead(number, 1, 0) OVER upwards = number + 1
            AND lead(is_chained AND kind <> 'lost', 1, 0) OVER upwards AS is_inside
    FROM items WHERE project_id = ? WINDOW upwards AS (ORDER BY number)
) WHERE is_link AND NOT is_inside
"""

_COUNTS: Final = """
SELECT
    ifnull(sum(NOT is_reserved), 0),
    ifnull(min(number), 0),
    ifnull(max(number), 0),
    ifnull(sum(is_voided), 0),
    ifnull(sum(is_imported), 0),
    ifnull(sum(is_reserved), 0)
FROM items WHERE project_id = ?
"""

_MATCH: Final = """
UPDATE items SET is_matched = 1
WHERE project_id = ? AND number = ? AND digest = ? AND is_judged = ?
"""

_IS_MATCHED: Final = """
SELECT 1 FROM items
WHERE project_id = ? AND number = ? AND digest = ? AND is_judged = ?
"""

_HAS_HOLES: Final = "SELECT count(*) < max(number) - ? FROM items WHERE project_id = ?"


class Read(NamedTuple):
    """A read item."""

    item: Item
    is_expired: bool = False
    """Whether the record of its key may have expired."""
    is_judged: bool = False
    """Whether the check of the chain judges its text."""


class AuditDatabase:
    """A temporary database, which SQLite removes with the process."""

    def __init__(self, starts: Mapping[str, int]) -> None:
        """Open the database; `starts` has the last unread number of each project."""
        self._starts = starts
        # An empty name means a temporary file, in memory as long as it is small.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.executescript(f"{_SETTINGS}{_TABLE}BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, page: Iterable[Read]) -> None:
        """Add items; replace those of an earlier read."""
        self._database.executemany(_ADD, map(_row, page))

    def match(self, records: Sequence[KeyRecord]) -> list[KeyRecord]:
        """Match records with their tickets; return the records that differ."""
        unmatched = records
        for is_judged in (False, True):
            if unmatched:
                unmatched = self._match(unmatched, is_judged=is_judged)
        return [*unmatched]

    def _match(
        self, records: Sequence[KeyRecord], *, is_judged: bool
    ) -> list[KeyRecord]:
        """Match records with tickets whose text the chain does or does not judge."""
        rows = [
            (
                *(record.project_id, record.number),
                *(_digest(of_record(record), is_judged=is_judged), int(is_judged)),
            )
            for record in records
        ]
        matched = self._database.executemany(_MATCH, rows).rowcount
        if matched == len(rows):  # The usual case.
            return []
        return [
            record
            for record, row in zip(records, rows, strict=True)
            if not self._database.execute(_IS_MATCHED, row).fetchone()
        ]

    def unmatched(self) -> Iterator[TicketId]:
        """Yield the tickets without a matching record of their keys."""
        unmatched = "SELECT project_id, number FROM items WHERE NOT is_matched"
        yield from self._database.execute(unmatched)

    def missing(self, project_id: str) -> Iterator[tuple[Range, FindingKind | None]]:
        """Yield each missing range, and its kind; None if its neighbours explain it."""
        of_project = self._starts.get(project_id, 0), project_id
        [(has_holes,)] = self._database.execute(_HAS_HOLES, of_project)
        if not has_holes:  # The usual case; the window query is slow.
            return
        rows = self._database.execute(_HOLES, of_project)
        for first, last, below, above in rows:
            kind = below and ItemKind(below)
            yield (first, last), hole(kind, ItemKind(above))

    def guards(self, project_id: str) -> list[Range]:
        """Return the guards of seeds, each with the number of its end."""
        query = "SELECT number, seed_end FROM items WHERE seed_end AND project_id = ?"
        return self._rows(query, project_id)

    def counts(self, project_id: str) -> Sequence[int]:
        """Return counts of a project: the first fields of its audit."""
        [counts] = self._rows(_COUNTS, project_id)
        return tuple(counts)

    def unchained(self, project_id: str) -> list[Range]:
        """Return the first and the last number of each segment without hashes."""
        is_any = "SELECT 1 FROM items WHERE NOT is_chained AND project_id = ? LIMIT 1"
        return (
            self._rows(_UNCHAINED, project_id) if self._rows(is_any, project_id) else []
        )

    def lost(self, project_id: str) -> list[int]:
        """Return the numbers of lost tickets."""
        query = "SELECT number FROM items WHERE kind = 'lost' AND project_id = ?"
        return [number for (number,) in self._rows(query, project_id)]

    def ends(self, project_id: str) -> list[int]:
        """Return the last ticket of each segment of the chain, or part of a segment."""
        return [number for (number,) in self._rows(_ENDS, project_id)]

    def _rows(self, query: str, project_id: str) -> list[Any]:
        return self._database.execute(query, (project_id,)).fetchall()


def _row(read: Read) -> tuple[object, ...]:
    """Return the row of an item; an item that is no ticket needs no key record.

    Values are integers and texts, because SQLite converts other types slowly.
    """
    item = read.item
    digest = b""
    if isinstance(item, Ticket):
        digest = _digest(of_ticket(item), is_judged=read.is_judged)
    return (
        item.project_id,
        item.number,
        item.kind.value,
        digest,
        int(read.is_judged),
        int(not digest or read.is_expired),
        int(item.chain != ""),
        int(item.fields.get(STATUS) == VOIDED),
        int(isinstance(item, Ticket) and not is_given_here(item.kind)),
        int(isinstance(item, Reserved)),
        item.seed_end if guards_a_seed(item.kind) else None,
    )


def _digest(shared: Shared, *, is_judged: bool) -> bytes:
    """Return a digest of the shared fields, without the text that the chain judges."""
    covered = shared._replace(fingerprint="") if is_judged else shared
    return blake2b(repr(tuple(covered)).encode(), digest_size=16).digest()
