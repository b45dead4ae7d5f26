"""Stores a file's checked requests on disk, so that memory does not grow."""

import sqlite3
from collections.abc import Iterator
from typing import Final, Self

from ticket_numbering.contract.dynamodb_items import key_id
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.sender import Request

_TABLES: Final = """
CREATE TABLE requests (line INTEGER PRIMARY KEY, body BLOB);
CREATE TABLE keys (id TEXT PRIMARY KEY, line INTEGER, fingerprint TEXT) WITHOUT ROWID;
CREATE TABLE contents (digest TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID;
"""


class Spool:
    """A temporary database, which SQLite removes with the process."""

    def __init__(self) -> None:
        # An empty name means a temporary file, in memory as long as it is small.
        self._database = sqlite3.connect("", isolation_level=None)
        # Nothing is rolled back, and no other process reads it.
        self._database.executescript(f"PRAGMA journal_mode = OFF;{_TABLES}BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def __len__(self) -> int:
        """Return the count of requests."""
        return int(self._value("SELECT count(*) FROM requests")[0])

    def __iter__(self) -> Iterator[Request]:
        """Yield the requests in the order of their lines."""
        rows = self._database.execute("SELECT line, body FROM requests ORDER BY line")
        for line, body in rows:
            yield Request(body.decode(errors="surrogatepass"), line)

    def add(self, request: Request) -> None:
        """Add the request of a line."""
        # SQS rejects a lone surrogate of an unchecked line.
        body = request.body.encode(errors="surrogatepass")
        self._database.execute(
            "INSERT INTO requests VALUES (?, ?)", (request.line, body)
        )

    def first(self, ticket: CreateTicket, line: int) -> tuple[int, str]:
        """Return the first line with this ticket's key, and its fingerprint."""
        row = key_id(ticket.key), line, ticket.fingerprint
        self._database.execute("INSERT OR IGNORE INTO keys VALUES (?, ?, ?)", row)
        first, fingerprint = self._value(
            "SELECT line, fingerprint FROM keys WHERE id = ?", row[0]
        )
        return int(first), str(fingerprint)

    def count(self, digest: str) -> int:
        """Count a line by its content, and return the count so far."""
        self._database.execute(
            "INSERT INTO contents VALUES (?, 1) "
            "ON CONFLICT (digest) DO UPDATE SET number = number + 1",
            (digest,),
        )
        [number] = self._value("SELECT number FROM contents WHERE digest = ?", digest)
        return int(number)

    def _value(self, statement: str, *values: str | int) -> tuple[str | int, ...]:
        [row] = self._database.execute(statement, values).fetchall()
        return tuple(row)
