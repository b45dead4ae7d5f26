"""Exports every item of the tickets' table once, while workers may write.

A scan or a query may see half of a transaction, so missing numbers are read again at
the end. The read items are in a temporary database, so memory does not grow.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ticket_numbering.contract.dynamodb_items import NUMBER, RECORD_ID
from ticketctl.aws.items import json_values, key_record, ledger_item
from ticketctl.aws.retry import RateLimiter
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.table_reader import SETTLING_SECONDS, RawItem, TableReader
from ticketctl.cli.arguments import checked_projects
from ticketctl.cli.errors import NotThereError, Status
from ticketctl.cli.output import (
    console,
    counted,
    note_if_interrupted,
    print_note,
    spinner,
)
from ticketctl.files.json_lines import end_line, record_line
from ticketctl.files.whole_file import so_far, writing
from ticketctl.ledger.agreement import differences
from ticketctl.ledger.database import AuditDatabase, Read
from ticketctl.ledger.findings import FindingKind, Range
from ticketctl.ledger.item import Item, Ticket
from ticketctl.ledger.record import KeyRecord

STEP: Final = 100
"""The items between two updates of the progress."""

MAX_GAPS: Final = 10_000
"""More gaps are no transactions: tickets were deleted, and an audit names them."""

_AT_A_TIME: Final = 10_000
"""The records that are read again together, after one delay."""


@dataclass
class Export:
    """The items of a table, or of some projects, and the unexplained key records."""

    reader: TableReader
    numbers: AuditDatabase
    projects: Sequence[str] = ()
    """The projects; empty for all. The table of keys is read whole in either case."""
    max_gaps: int = MAX_GAPS
    """The maximum of gaps that are read again."""
    items: int = 0
    """The count of items so far."""
    records: int = 0
    """The count of records so far."""
    missing: int = 0
    """The count of missing numbers, without external ones."""
    present: dict[str, None] = field(default_factory=dict)
    """The projects that have an item."""

    def lines(self, *, has_keys: bool = True) -> Iterator[dict[str, Any]]:
        """Yield the lines: items, unexplained records if keys are read, counts."""
        for item in self.tickets():
            yield json_values(item.fields)
        for record in self._unexplained() if has_keys else ():
            self.records += 1
            yield record_line(json_values(record.fields))
        yield end_line(self.items, self.records if has_keys else None, self.missing)

    def tickets(self) -> Iterator[Item]:
        """Yield all items, by project in order, except for numbers read again."""
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
        """Yield the records that no ticket explains, even after a second read.

        Such a key has a number, for example that of a lost ticket, and a repeat of its
        request must get it. A ticket may have been written meanwhile, with its record.
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
        for record, item in self.reader.named(records):
            if not isinstance(item, Ticket) or differences(item, record):
                yield record


def export(
    find_stack: Callable[[], StackAccess],
    names: Sequence[str],
    tables: tuple[str | None, str | None],
    save: Path | None,
    rate: int | None,
) -> Status:
    """Export these projects; all if none is given.

    Raises:
        NotThereError: A named project has no tickets.
    """
    projects = checked_projects(names)
    stack = find_stack()
    reader = TableReader.of(stack, *tables, limiter=RateLimiter(rate))
    has_keys = tables[0] is None or tables[1] is not None
    about = reader.check_key(reader.tickets_table, "project_id", NUMBER)
    if has_keys:
        reader.check_key(reader.keys_table, RECORD_ID)
    with AuditDatabase({}) as numbers:
        tickets = Export(reader, numbers, projects)
        of_about = "" if projects else f" of about {about:,}"
        _write(tickets, save, of_about, has_keys=has_keys)
    counts = counted(tickets.items, "item"), counted(len(tickets.present), "project")
    print_note(f"exported {' of '.join(counts)}{f' to {save}' if save else ''}")
    if absent := {*projects} - tickets.present.keys():
        raise NotThereError(f"no tickets: {', '.join(sorted(absent))}")
    if tickets.missing:
        missing = counted(tickets.missing, "number")
        print_note(f"missing: {missing}; see: {stack.program} audit")
    return Status.PROBLEM if tickets.missing else Status.OK


def _write(
    tickets: Export, save: Path | None, of_about: str, *, has_keys: bool
) -> None:
    """Write all lines; show the progress unless the lines are on the screen."""
    is_on_screen = console().is_terminal and not save  # The lines themselves show it.
    with (
        writing(save) as write,
        note_if_interrupted(lambda: so_far(save, counted(tickets.items, "item"))),
        nullcontext() if is_on_screen else spinner("exporting") as show,
    ):
        for line in tickets.lines(has_keys=has_keys):
            write(line)
            if show and tickets.items % STEP == 0:
                show(f"exporting: {tickets.items:,}{of_about}")
