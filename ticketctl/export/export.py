"""Reads every item of the tickets' table once, while workers may write.

A scan or a query may see the middle of a transaction, so what is missing is read again
at the end. A temporary database keeps what was read, so memory does not grow.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from ticketctl.aws.items import json_values, key_record, ledger_item
from ticketctl.aws.table_reader import SETTLING_SECONDS, RawItem, TableReader
from ticketctl.files.exported import end_line, record_line
from ticketctl.ledger.agreement import differences
from ticketctl.ledger.database import AuditDatabase, Read
from ticketctl.ledger.findings import FindingKind, Range
from ticketctl.ledger.item import Item, Ticket
from ticketctl.ledger.record import KeyRecord

MAX_GAPS: Final = 10_000
"""More are no transactions: tickets were deleted, and an audit says which."""

_AT_A_TIME: Final = 10_000
"""Records that are read again together, after one pause."""


@dataclass
class Export:
    """The items of a table, or of some projects, and what they leave unexplained."""

    reader: TableReader
    numbers: AuditDatabase
    projects: Sequence[str] = ()
    """All if there are none; the table of keys is read whole in either case."""
    max_gaps: int = MAX_GAPS
    """The most gaps that are read again."""
    items: int = 0
    """The count of items so far."""
    records: int = 0
    """The count of records so far."""
    missing: int = 0
    """The count of numbers that have no item, and are not another system's."""
    present: dict[str, None] = field(default_factory=dict)
    """The projects that have an item."""

    def lines(self, *, has_keys: bool = True) -> Iterator[dict[str, Any]]:
        """Yield the lines of the items, of records if there are keys, of the counts."""
        for item in self.tickets():
            yield json_values(item.fields)
        for record in self._unexplained() if has_keys else ():
            self.records += 1
            yield record_line(json_values(record.fields))
        yield end_line(self.items, self.records if has_keys else None, self.missing)

    def tickets(self) -> Iterator[Item]:
        """Yield all items; those of a project in order, but for numbers read again."""
        for page in self._pages():
            yield from self._noted([*map(ledger_item, page)])
        if gaps := [*islice(self._gaps(), self.max_gaps)]:
            self.reader.sleep(SETTLING_SECONDS)
        for project_id, ends in gaps:
            for page in self.reader.project(project_id, "BETWEEN :0 AND :1", *ends):
                items = map(ledger_item, page)
                yield from self._noted([item for item in items if item.has_number])
        self.missing = sum(last - first + 1 for _, (first, last) in self._gaps())

    def _pages(self) -> Iterator[Sequence[RawItem]]:
        for project_id in self.projects:
            yield from self.reader.project(project_id)
        if not self.projects:
            yield from self.reader.scan(self.reader.tickets_table)

    def _noted(self, items: Sequence[Item]) -> Iterator[Item]:
        self.numbers.add(Read(item) for item in items if item.has_number)
        for item in items:
            self.present[item.project_id] = None
            self.items += 1
            yield item

    def _gaps(self) -> Iterator[tuple[str, Range]]:
        for project_id in self.present:
            for ends, kind in self.numbers.missing(project_id):
                if kind is FindingKind.GAP:
                    yield project_id, ends

    def _unexplained(self) -> Iterator[KeyRecord]:
        """Yield the records that no ticket explains, not after a pause either.

        Such a key has a number all the same, that of a lost ticket, say, and a repeat
        of its request must hear of it. A ticket may have come since, and its record
        with it.
        """
        unmatched = self._unmatched()
        while doubts := [*islice(unmatched, _AT_A_TIME)]:
            if left := [*self._left(doubts)]:
                self.reader.sleep(SETTLING_SECONDS)
                again = self.reader.records(record.key for record in left)
                records = (key_record(item) for _, item in again)
                yield from self._left(
                    [record for record in records if isinstance(record, KeyRecord)]
                )

    def _unmatched(self) -> Iterator[KeyRecord]:
        for page in self.reader.scan(self.reader.keys_table):
            records = [
                record
                for record in map(key_record, page)
                if isinstance(record, KeyRecord)
                and (not self.projects or record.project_id in self.projects)
            ]
            yield from self.numbers.match(records)

    def _left(self, records: Sequence[KeyRecord]) -> Iterator[KeyRecord]:
        there = self.reader.tickets(
            {(record.project_id, record.number) for record in records}
        )
        for record in records:
            item = there.get((record.project_id, record.number))
            if not isinstance(item, Ticket) or differences(item, record):
                yield record
