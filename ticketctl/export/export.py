"""Reads every item of the tickets' table once, while workers may write.

A scan or a query may see the middle of a transaction, so missing numbers are read again
at the end. In memory are each project's last number and these gaps, and no ticket.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ticketctl.aws.items import ledger_item
from ticketctl.aws.table_reader import SETTLING_SECONDS, RawItem, TableReader
from ticketctl.ledger.item import Item, TicketId
from ticketctl.ledger.sequence import explains_below

MAX_GAPS: Final = 10_000
"""More are no transactions: tickets were deleted, and an audit says which."""


@dataclass
class Export:
    """The items of a table, or of some projects, and the missing numbers."""

    reader: TableReader
    projects: Sequence[str] = ()
    """All if there are none."""
    max_gaps: int = MAX_GAPS
    """The most gaps that are read again."""
    items: int = 0
    """The count of items so far."""
    missing: int = 0
    """The count of numbers that have no item, and are not another system's."""
    last: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """The highest number of each project so far."""
    _gaps: list[tuple[str, int, int]] = field(default_factory=list)
    _late: set[TicketId] = field(default_factory=set)
    """Numbers that came after higher ones, which no page of DynamoDB's should have."""

    def tickets(self) -> Iterator[Item]:
        """Yield all items; those of a project in order, but for numbers read again."""
        for page in self._pages():
            for item in map(ledger_item, page):
                self._note(item)
                self.items += 1
                yield item
        if self._gaps:
            self.reader.sleep(SETTLING_SECONDS)
        for project_id, first, last in self._gaps:
            yield from self._read_again(project_id, first, last)

    def _pages(self) -> Iterator[Sequence[RawItem]]:
        for project_id in self.projects:
            yield from self.reader.project(project_id)
        if not self.projects:
            yield from self.reader.scan(self.reader.tickets_table)

    def _note(self, item: Item) -> None:
        """Note the numbers that are missing right before an item."""
        last = self.last[item.project_id]
        if not item.has_number:
            return
        if item.number < last:
            self._late.add((item.project_id, item.number))
            return
        self.last[item.project_id] = item.number
        if item.number - last > 1 and not explains_below(item.kind):
            if len(self._gaps) < self.max_gaps:
                self._gaps.append((item.project_id, last + 1, item.number - 1))
            else:
                self.missing += item.number - 1 - last

    def _read_again(self, project_id: str, first: int, last: int) -> Iterator[Item]:
        self.missing += last - first + 1
        between = "BETWEEN :0 AND :1"
        for page in self.reader.project(project_id, between, first, last):
            for item in map(ledger_item, page):
                self.missing -= item.has_number
                is_new = (project_id, item.number) not in self._late
                if item.has_number and is_new:
                    self.items += 1
                    yield item
