"""Reads the records of idempotency keys that no ticket of the table explains.

Such a key has a number all the same, that of a lost ticket, say, and a repeat of its
request must hear of it. A ticket that agrees with its record needs no line for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from ticketctl.aws.items import key_record
from ticketctl.aws.table_reader import SETTLING_SECONDS, TableReader
from ticketctl.ledger.agreement import differences
from ticketctl.ledger.database import AuditDatabase, Read
from ticketctl.ledger.item import Item, Ticket
from ticketctl.ledger.record import KeyRecord

_AT_A_TIME: Final = 10_000
"""Records that are read again together, after one pause."""


@dataclass
class Unexplained:
    """The records that are left when those of the tickets are taken away."""

    reader: TableReader
    numbers: AuditDatabase
    projects: Sequence[str] = ()
    """All if there are none; the table of keys is read whole in either case."""
    count: int = 0
    """The count of records so far."""

    def note(self, item: Item) -> None:
        """Note an item of the tickets' table; all come before the records."""
        if item.has_number:
            self.numbers.add([Read(item)])

    def records(self) -> Iterator[KeyRecord]:
        """Yield the records that no ticket explains, not after a pause either.

        A ticket may have come since, and its record with it.
        """
        unmatched = self._unmatched()
        while doubts := [*islice(unmatched, _AT_A_TIME)]:
            if left := [*self._left(doubts)]:
                self.reader.sleep(SETTLING_SECONDS)
                again = self.reader.records(record.key for record in left)
                records = (key_record(item) for _, item in again)
                key_records = [
                    record for record in records if isinstance(record, KeyRecord)
                ]
                for record in self._left(key_records):
                    self.count += 1
                    yield record

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
        places = {(record.project_id, record.number) for record in records}
        there = self.reader.tickets(places)
        for record in records:
            item = there.get((record.project_id, record.number))
            if not isinstance(item, Ticket) or differences(item, record):
                yield record
