"""Reads both tables for an audit, and keeps what looks wrong.

The tickets come first: a key whose ticket was written after the tickets were read is
then the common suspicion of a system at work, and is looked up page by page.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Final, TypeVar

from ticketctl.audit.findings import Finding
from ticketctl.audit.plan import AuditPlan
from ticketctl.audit.reading_threads import side_by_side
from ticketctl.audit.recheck import Recheck
from ticketctl.audit.rows import (
    KEY_ATTRIBUTES,
    TICKET_ATTRIBUTES,
    KeyRow,
    RowError,
    TicketRow,
    key_row,
    ticket_row,
)
from ticketctl.audit.table_scan import Item, TableReader
from ticketctl.audit.ticket_index import TicketIndex

Row = TypeVar("Row", TicketRow, KeyRow)

MOST: Final = 10_000
"""So many suspicions, or findings, are looked at; more mean that all is wrong."""


@dataclass
class AuditReading:
    """What was read, and what of it looks wrong."""

    reader: TableReader
    plan: AuditPlan
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    index: TicketIndex = field(default_factory=TicketIndex)
    malformed: set[Finding] = field(default_factory=set)
    suspects: dict[tuple[str, str], set[int]] = field(
        default_factory=lambda: defaultdict(set)
    )
    """Keys by project, each with the numbers of tickets that may have it."""
    tickets_read: int = 0
    keys_read: int = 0
    _lock: Lock = field(default_factory=Lock)

    @property
    def recheck(self) -> Recheck:
        """What reads single items again."""
        plan = self.plan
        return Recheck(self.reader, plan.tickets_table, plan.keys_table, plan.retention)

    def read_tickets(self) -> None:
        """Read all tickets, or those of the plan's projects with their keys.

        Raises:
            ReadingStoppedError: Not all could be read.
        """
        plan, reader = self.plan, self.reader
        try:
            if plan.projects:
                read = self._read_project
                side_by_side(reader.meter, plan.projects, read, plan.segments)
            else:
                table, segments = plan.tickets_table, plan.segments
                reader.scan(table, TICKET_ATTRIBUTES, segments, self._add_tickets)
        finally:
            self.index.seal()

    def read_keys(self) -> None:
        """Read all keys' records, unless it is about single projects.

        Raises:
            ReadingStoppedError: Not all could be read.
        """
        if not self.plan.projects:
            plan = self.plan
            self.reader.scan(
                plan.keys_table, KEY_ATTRIBUTES, plan.segments, self._meet_keys
            )

    def fill_gaps(self) -> None:
        """Look again for numbers that the scan did not see.

        Raises:
            ReadingStoppedError: Not all could be looked for.
        """
        late = [
            item
            for name, project in self.index.projects.items()
            for first, last, kind in project.missing()
            if kind
            for item in self.recheck.existing(name, first, last)
        ]
        if late:
            self._add([*self._rows(late, self._ticket)])
            self.index.seal()

    def _read_project(self, project_id: str) -> None:
        table = self.plan.tickets_table
        for page in self.reader.partition(table, project_id, TICKET_ATTRIBUTES):
            rows = [*self._rows(page, self._ticket)]
            named = {each.idempotency_key for each in rows} - {None}
            keys = [{"id": {"S": f"{project_id}#{each}"}} for each in named]
            found = self.reader.items(self.plan.keys_table, keys, KEY_ATTRIBUTES)
            records = [*self._rows([*found], key_row)]
            met = {(each.idempotency_key, each.number) for each in records}
            self._add(rows, met)
            self._count(tickets=len(page), keys=len(records))

    def _add_tickets(self, page: Sequence[Item]) -> None:
        self._add([*self._rows(page, self._ticket)])
        self._count(tickets=len(page))

    def _ticket(self, item: Item) -> TicketRow:
        """Read a ticket; what can be read of a malformed one is indexed at once."""
        try:
            return ticket_row(item)
        except RowError as error:
            if error.row:
                self._add([error.row])
            raise

    def _add(
        self, rows: Sequence[TicketRow], met: Collection[tuple[str | None, int]] = ()
    ) -> None:
        """Index tickets; those are met whose key's record is known to name them."""
        retention, now = self.plan.retention, self.started
        with self._lock:
            for row in rows:
                is_old = bool(retention and row.is_older_than(retention, now))
                is_met = (row.idempotency_key, row.number) in met
                self.index.add(row, is_old=is_old, is_met=is_met)

    def _meet_keys(self, page: Sequence[Item]) -> None:
        new: list[KeyRow] = []
        for row in self._rows(page, key_row):
            numbers = self.index.meet(row)
            if numbers:
                self._suspect(row, numbers)
            elif numbers is not None:
                new.append(row)
        for row in self._without_ticket(new):
            self._suspect(row, [])
        self._count(keys=len(page))

    def _without_ticket(self, rows: Sequence[KeyRow]) -> Iterator[KeyRow]:
        """Keep those whose ticket was not written since the tickets were read."""
        places = {(each.project_id, each.number) for each in rows}
        keys = [
            {"project_id": {"S": project_id}, "number": {"N": str(number)}}
            for project_id, number in places
        ]
        table = self.plan.tickets_table
        found = [*self.reader.items(table, keys, TICKET_ATTRIBUTES)]
        there = {
            (each.project_id, each.number, each.idempotency_key)
            for each in self._rows(found, ticket_row)
        }
        for row in rows:
            if (row.project_id, row.number, row.idempotency_key) not in there:
                yield row

    def _suspect(self, row: KeyRow, numbers: Sequence[int]) -> None:
        with self._lock:
            if len(self.suspects) <= MOST:
                self.suspects[row.project_id, row.idempotency_key].update(numbers)

    def _rows(
        self, items: Sequence[Item], read: Callable[[Item], Row]
    ) -> Iterator[Row]:
        for item in items:
            try:
                yield read(item)
            except RowError as error:
                if len(self.malformed) <= MOST:
                    self.malformed.add(error.finding)

    def _count(self, tickets: int = 0, keys: int = 0) -> None:
        with self._lock:
            self.tickets_read += tickets
            self.keys_read += keys
            self.plan.on_read(
                self.tickets_read, self.keys_read, self.reader.meter.units
            )
