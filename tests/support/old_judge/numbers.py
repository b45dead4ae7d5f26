"""The numbers that an audit has read, in a database: memory does not grow with them."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, Self

from tests.support.old_judge.agreement import Shared, of_record, of_ticket
from tests.support.old_judge.items import KeyRecord, Ticket
from ticket_numbering.contract.dynamodb_items import FINGERPRINT, RESERVED, VOIDED
from ticketctl.ledger.findings import Kind, Range
from ticketctl.ledger.item import Place

_TABLE: Final = """
CREATE TABLE tickets (
    project_id TEXT,
    number INTEGER,
    digest BLOB,      -- Of the fields that its key's record has, too.
    is_judged INT,    -- The chain judges its text, and the record need not confirm it.
    is_matched INT,   -- Its key's record agrees, or may be absent.
    is_chained INT,   -- It has a hash.
    is_lost INT,      -- It is reserved, and has the hash of a ticket.
    is_baseline INT,  -- A seed or an import put it, whatever was before it.
    is_external INT,  -- Another system gave the number, and may have given the next.
    is_voided INT,
    is_reserved INT,
    is_imported INT,
    PRIMARY KEY (project_id, number)
) WITHOUT ROWID;
"""

_ADD: Final = "REPLACE INTO tickets VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

# The number before the first is 0, or the last that was not read: a sequence that
# starts at 2 lacks one. Missing numbers are explained if both around are external.
_MISSING: Final = """
SELECT before + 1, number - 1, is_baseline, is_baseline AND is_behind_external FROM (
    SELECT number, is_baseline, lag(number, 1, ?) OVER upwards AS before,
        lag(is_external, 1, 0) OVER upwards AS is_behind_external
    FROM tickets WHERE project_id = ? WINDOW upwards AS (ORDER BY number)
) WHERE number > before + 1
"""

_UNCHAINED: Final = """
SELECT min(number), max(number) FROM (
    SELECT number, is_chained, sum(is_chained) OVER (ORDER BY number) AS segment
    FROM tickets WHERE project_id = ?
) WHERE NOT is_chained GROUP BY segment
"""

_ENDS: Final = """
SELECT number FROM (
    SELECT number, is_chained AND NOT is_lost AS is_link,
        lead(number, 1, 0) OVER upwards = number + 1
            AND lead(is_chained AND NOT is_lost, 1, 0) OVER upwards AS is_inside
    FROM tickets WHERE project_id = ? WINDOW upwards AS (ORDER BY number)
) WHERE is_link AND NOT is_inside
"""

_COUNTS: Final = """
SELECT
    count(*) FILTER (WHERE NOT is_reserved),
    ifnull(min(number), 0),
    ifnull(max(number), 0),
    count(*) FILTER (WHERE is_voided),
    count(*) FILTER (WHERE is_imported),
    count(*) FILTER (WHERE is_reserved)
FROM tickets WHERE project_id = ?
"""


class Numbers:
    """A database of its own, which SQLite removes with the process."""

    def __init__(self, starts: Mapping[str, int]) -> None:
        """Take the numbers up to which nothing is read, by project."""
        self._starts = starts
        # The empty name: a temporary file, and in memory as long as it is small.
        self._database = sqlite3.connect("", isolation_level=None)
        # Nothing is ever rolled back, and nobody else reads it.
        self._database.executescript(f"PRAGMA journal_mode = OFF;{_TABLE}BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, ticket: Ticket, *, is_expired: bool, is_judged: bool) -> None:
        """Add a ticket, or take it in place of what was read of it before.

        Args:
            ticket: The ticket; no key is expected if it is malformed.
            is_expired: Whether the record of its key may have expired.
            is_judged: Whether the chain's check judges its text.
        """
        has_key = not ticket.is_malformed and ticket.idempotency_key is not None
        is_reserved = ticket.status == RESERVED
        row = (
            ticket.project_id,
            ticket.number,
            _digest(of_ticket(ticket), is_judged=is_judged) if has_key else b"",
            is_judged,
            not has_key or is_expired,
            bool(ticket.chain),
            ticket.is_lost,
            ticket.explains_a_gap,
            # A lost ticket was numbered here, and a worker may go on behind a seed.
            ticket.is_external and not (ticket.is_lost or ticket.ends_a_seed),
            ticket.status == VOIDED,
            is_reserved,
            ticket.is_external and not is_reserved,
        )
        self._database.execute(_ADD, row)

    def match(self, record: KeyRecord) -> bool:
        """Match a record with its ticket; return whether they agree."""
        shared = of_record(record)
        digests = [_digest(shared, is_judged=is_judged) for is_judged in (True, False)]
        matched = self._database.execute(
            "UPDATE tickets SET is_matched = 1 WHERE digest = iif(is_judged, ?, ?) "
            "AND project_id = ? AND number = ?",
            (*digests, record.project_id, record.number),
        )
        return matched.rowcount > 0

    def unmatched(self) -> Iterator[Place]:
        """Yield the tickets without a record of their keys."""
        unmatched = "SELECT project_id, number FROM tickets WHERE NOT is_matched"
        yield from self._database.execute(unmatched)

    def missing(self, project_id: str) -> Iterator[tuple[Range, Kind | None]]:
        """Yield each missing range, and its kind; None if its neighbours explain it."""
        start = self._starts.get(project_id, 0)
        rows = self._database.execute(_MISSING, (start, project_id))
        for first, last, is_seeds, is_explained in rows:
            kind = Kind.UNFINISHED_SEED if is_seeds else Kind.GAP
            yield (first, last), None if is_explained else kind

    def counts(self, project_id: str) -> Sequence[int]:
        """Return counts of a project; see the first fields of its audit."""
        [counts] = self._rows(_COUNTS, project_id)
        return tuple(counts)

    def unchained(self, project_id: str) -> list[Range]:
        """Return the first and the last number of each segment without a chain."""
        return self._rows(_UNCHAINED, project_id)

    def lost(self, project_id: str) -> list[int]:
        """Return the numbers of lost tickets."""
        query = "SELECT number FROM tickets WHERE is_lost AND project_id = ?"
        return [number for (number,) in self._rows(query, project_id)]

    def ends(self, project_id: str) -> list[int]:
        """Return the last ticket of each segment of the chain, or of a part of one."""
        return [number for (number,) in self._rows(_ENDS, project_id)]

    def _rows(self, query: str, project_id: str) -> list[Any]:
        return self._database.execute(query, (project_id,)).fetchall()


def _digest(shared: Shared, *, is_judged: bool) -> bytes:
    """Return a digest of the shared fields, without the text that the chain judges."""
    covered = shared | ({FINGERPRINT: ""} if is_judged else {})
    return blake2b(repr(covered).encode(), digest_size=16).digest()
