"""The key records of the file and of the tables, in a restore's database."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ticket_numbering.contract.dynamodb_items import key_id, key_of_id
from ticket_numbering.contract.messages import RequestKey
from ticketctl.aws.items import json_values
from ticketctl.ledger.record import KeyRecord, MalformedRecord, Record

RECORDS: Final = """
CREATE TABLE records (
    is_own INT,         -- Whether it is of the file, not of the tables.
    project_id TEXT,
    idempotency_key TEXT,
    number INT,         -- The recorded number; 0 if the record is malformed.
    fields TEXT,
    line INT,
    PRIMARY KEY (is_own, project_id, idempotency_key)
) WITHOUT ROWID;
CREATE INDEX records_by_number ON records (project_id, number);
"""

_OF_KEY: Final = "is_own = 0 AND project_id = ? AND idempotency_key = ?"


@dataclass(frozen=True)
class Records:
    """The records in a database."""

    sql: sqlite3.Connection

    def add(self, record: Record, line: int = 0) -> None:
        """Add a record of the tables, or of the file if it has a line."""
        row: tuple[object, ...] = *key_of_id(record.record_id), 0, None
        if isinstance(record, KeyRecord):
            fields = json.dumps(json_values(record.fields))
            row = *record.key, record.number, fields
        query = "REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?)"
        self.sql.execute(query, (int(line > 0), *row, line))

    def remove(self, key: RequestKey) -> None:
        """Remove the tables' record of a key."""
        self.sql.execute(f"DELETE FROM records WHERE {_OF_KEY}", key)

    def of_key(self, key: RequestKey) -> Record | None:
        """Return the tables' record of a key."""
        query = f"SELECT fields FROM records WHERE {_OF_KEY}"
        for (fields,) in self.sql.execute(query, key):
            return _record(fields) if fields else MalformedRecord(key_id(key))
        return None

    def naming(
        self, project_id: str, number: int, *, is_own: bool
    ) -> Iterator[KeyRecord]:
        """Yield the records of a number, of the file or of the tables."""
        of = "project_id = ? AND number = ? AND is_own = ?"
        return self._records(of, project_id, number, int(is_own))

    def of_project(self, project_id: str) -> Iterator[KeyRecord]:
        """Yield the records of a project: the file's, then the tables'."""
        return self._records("project_id = ? ORDER BY is_own DESC", project_id)

    def there(self, project_id: str) -> Iterator[KeyRecord]:
        """Yield the tables' records of a project."""
        return self._records("is_own = 0 AND project_id = ?", project_id)

    def _records(self, condition: str, *values: Any) -> Iterator[KeyRecord]:
        query = f"SELECT fields FROM records WHERE number AND {condition}"
        for (fields,) in self.sql.execute(query, values):
            yield _record(fields)

    def left(self, project_id: str) -> Iterator[tuple[int, KeyRecord]]:
        """Yield the lines and records of the file that are restored without an item.

        Records of refused numbers are left out.
        """
        of = "project_id = kept.project_id AND number = kept.number"
        query = (
            "SELECT line, fields FROM records AS kept "
            "WHERE is_own = 1 AND project_id = ? AND NOT EXISTS ("
            f"SELECT 1 FROM records WHERE is_own = 0 AND {of} "
            "AND idempotency_key = kept.idempotency_key) AND NOT EXISTS ("
            f"SELECT 1 FROM numbers WHERE {of} "
            "AND (why <> '' OR record_key = kept.idempotency_key)) ORDER BY line"
        )
        for line, fields in self.sql.execute(query, (project_id,)):
            yield line, _record(fields)


def _record(text: str) -> KeyRecord:
    fields = json.loads(text)
    key = fields["project_id"], fields["idempotency_key"]
    return KeyRecord(*key, int(fields["number"]), fields)
