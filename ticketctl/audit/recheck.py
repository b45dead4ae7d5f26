"""Reads a suspicion again, item by item, before anybody hears of it.

The scans of the two tables are not one moment, and a scan may see the middle of a
transaction; a GetItem does not. What is found here is so, whoever writes meanwhile.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, pairwise
from typing import Final

from ticketctl.audit.findings import Finding, Kind
from ticketctl.audit.rows import (
    TICKET_ATTRIBUTES,
    KeyRow,
    RowError,
    TicketRow,
    key_row,
    ticket_row,
)
from ticketctl.audit.table_scan import Item, TableReader

# A transaction writes at most 50 tickets, so a longer gap is none that was seen
# half-way, nor two in a row, and a Query of the range is enough.
_ONE_BY_ONE: Final = 100


@dataclass(frozen=True)
class Recheck:
    """Reads single items of both tables."""

    reader: TableReader
    tickets_table: str
    keys_table: str
    retention: timedelta | None

    def finding(
        self, project_id: str, idempotency_key: str, numbers: Collection[int]
    ) -> Finding | None:
        """Say what is wrong with a key and its tickets, if anything is.

        Args:
            project_id: Whose key.
            idempotency_key: The key.
            numbers: Tickets that may have it, beside the one that its record names.
        """
        try:
            record = self._key(project_id, idempotency_key)
        except RowError:
            return None  # It was found already, as what it is.
        named = set() if record is None else {record.number}
        holders = [
            row
            for number in sorted(named | set(numbers))
            if (row := self.ticket(project_id, number))
            and row.idempotency_key == idempotency_key
        ]
        kind = self._kind(record, holders)
        if kind is None or self._is_found_already(kind, project_id, named):
            return None
        found = tuple(each.number for each in holders) or tuple(named)
        other = named - {*found}
        return Finding(
            kind, project_id, found, idempotency_key, next(iter(other), None)
        )

    def _kind(self, record: KeyRow | None, holders: list[TicketRow]) -> Kind | None:
        if len(holders) > 1 and not self._expired_between(holders):
            return Kind.DUPLICATE
        if record is None:
            return Kind.TICKET_WITHOUT_KEY if holders else None
        if not holders:
            return Kind.KEY_WITHOUT_TICKET
        # Where a key expired and was used again, its record names the latest.
        return None if record.number == holders[-1].number else Kind.MISMATCH

    def _is_found_already(
        self, kind: Kind, project_id: str, named: Collection[int]
    ) -> bool:
        """Tell whether the missing ticket is there and malformed."""
        return kind is Kind.KEY_WITHOUT_TICKET and any(
            self._item(project_id, number) and not self.ticket(project_id, number)
            for number in named
        )

    def _expired_between(self, holders: list[TicketRow]) -> bool:
        """Tell whether a key had expired each time that it was used again."""
        if not self.retention:
            return False
        try:
            times = [datetime.fromisoformat(each.assigned_at) for each in holders]
            return all(
                after - before >= self.retention for before, after in pairwise(times)
            )
        except (TypeError, ValueError):
            return False

    def existing(self, project_id: str, first: int, last: int) -> Iterator[Item]:
        """Return the tickets of a range in which a scan saw none."""
        if last - first < _ONE_BY_ONE:
            for number in range(first, last + 1):
                if item := self._item(project_id, number):
                    yield item
            return
        pages = self.reader.partition(
            self.tickets_table, project_id, TICKET_ATTRIBUTES, (first, last)
        )
        yield from chain.from_iterable(pages)

    def ticket(self, project_id: str, number: int) -> TicketRow | None:
        """Read a ticket, if there is one that can be read."""
        item = self._item(project_id, number)
        try:
            return ticket_row(item) if item else None
        except RowError:
            return None

    def _item(self, project_id: str, number: int) -> Item | None:
        key = {"project_id": {"S": project_id}, "number": {"N": str(number)}}
        return self.reader.item(self.tickets_table, key)

    def _key(self, project_id: str, idempotency_key: str) -> KeyRow | None:
        key = {"id": {"S": f"{project_id}#{idempotency_key}"}}
        item = self.reader.item(self.keys_table, key)
        return key_row(item) if item else None
