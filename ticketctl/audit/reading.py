"""Reads both tables for an audit, and collects the suspects.

The tickets are read first. So on a live system most doubts are keys whose tickets were
written meanwhile, and they are looked up page by page.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from ticket_numbering.contract.messages import RequestKey
from ticketctl.audit.heads import KeptHead
from ticketctl.aws.items import key_record, ledger_item
from ticketctl.aws.table_reader import RawItem, TableReader
from ticketctl.cli.errors import InputError
from ticketctl.ledger.agreement import expiry_of, explains
from ticketctl.ledger.database import AuditDatabase, Read
from ticketctl.ledger.findings import Finding, FindingKind, Range
from ticketctl.ledger.item import Item, Malformed, Ticket
from ticketctl.ledger.judge import malformed
from ticketctl.ledger.record import KeyRecord, MalformedRecord
from ticketctl.ledger.sequence import SequenceCheck

MAX_DOUBTS: Final = 10_000
"""With more doubts the tables do not belong together, and no list is needed."""


@dataclass(frozen=True)
class AuditPlan:
    """The projects to audit, and the heads to check."""

    projects: tuple[str, ...] = ()
    """The projects; empty for all."""
    retention_days: int = 0
    """The retention of keys; 0 means for ever."""
    heads: Sequence[KeptHead] = ()
    """The heads to check."""
    since: Mapping[str, int] = field(default_factory=dict)
    """The last number that is not read, because a head covers it, by project."""


@dataclass
class AuditReading:
    """The numbers and the suspects of both tables."""

    reader: TableReader
    plan: AuditPlan
    numbers: AuditDatabase
    progress: Callable[["AuditReading"], None] = lambda _: None
    """Called with the reading after each page."""
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    chains: dict[str, SequenceCheck] = field(
        default_factory=lambda: defaultdict(SequenceCheck)
    )
    """The check of each project that has an item."""
    malformed: set[Finding] = field(default_factory=set)
    doubts: set[RequestKey] = field(default_factory=set)
    """The keys whose records have no matching ticket."""
    tickets_read: int = 0
    keys_read: int = 0

    def read(self) -> None:
        """Read all tickets and keys, or only those of single projects."""
        for project_id in self.plan.projects:
            self._read_project(project_id)
        if not self.plan.projects:
            for page in self.reader.scan(self.reader.tickets_table):
                self._add(page)
            self._read_in_order()
            for page in self.reader.scan(self.reader.keys_table):
                self._match(page)

    def read_again(self, missing: Iterable[tuple[str, Range]]) -> None:
        """Read missing numbers again."""
        for project_id, ends in missing:
            check = SequenceCheck()
            items = [*self.items_between(project_id, ends, check)]
            self.tickets_read += len(items)
            self._take(items, check)
            self.chains[project_id].unlinked += check.unlinked
            for kind, suspects in check.suspects():
                self.chains[project_id].runs[kind].append(suspects)

    def items_between(
        self, project_id: str, ends: Range, check: SequenceCheck
    ) -> Iterator[Item]:
        """Yield a range of items; give the check the item before them."""
        before = ends[0] - 1
        between = "BETWEEN :0 AND :1"
        for page in self.reader.project(project_id, between, before, ends[1]):
            for item in map(ledger_item, page):
                if item.has_number and item.number == before:
                    check.before = item.head
                else:
                    yield item

    def _read_project(self, project_id: str) -> None:
        """Read a project's tickets, and the records of their keys."""
        start = self.plan.since.get(project_id)
        side = ("",) if start is None else (">= :0", start)
        for page in self.reader.project(project_id, *side):
            self._match([item for _, item in self.reader.records(self._add(page))])

    def _add(self, page: Sequence[RawItem]) -> set[RequestKey]:
        """Add items, and return the keys of tickets."""
        items: list[Item] = []
        for item in map(ledger_item, page):
            start = self.plan.since.get(item.project_id)
            if item.has_number and item.number == start:
                self.chains[item.project_id].before = item.head
            else:
                items.append(item)
        self.tickets_read += len(items)
        self._take(items)
        self.progress(self)
        return {item.key for item in items if isinstance(item, Ticket)}

    def _take(self, items: Iterable[Item], check: SequenceCheck | None = None) -> None:
        """Add items, and feed them to a check: by default that of their project."""
        rows: list[Read] = []
        for item in items:
            is_expired = False
            match item:
                case Malformed():
                    self._note_malformed(malformed(item))
                case Ticket():
                    expiry = expiry_of(item, self.plan.retention_days)
                    is_expired = expiry is not None and expiry <= self.started
            if item.has_number:  # Even a malformed item is not missing.
                own = check or self.chains[item.project_id]
                rows.append(Read(item, is_expired, own.follow(item)))
        self.numbers.add(rows)
        for project_id in {row.item.project_id for row in rows}:
            check_amount(self.chains[project_id].suspect_count)

    def _read_in_order(self) -> None:
        """Read the projects again whose items did not come in order."""
        for project_id, chain in self.chains.items():
            if chain.is_out_of_order:
                self.chains[project_id] = SequenceCheck()
                before = self._count(project_id)
                for page in self.reader.project(project_id):
                    self._take(map(ledger_item, page))
                # These were written meanwhile.
                self.tickets_read += self._count(project_id) - before

    def _count(self, project_id: str) -> int:
        tickets, *_, reserved = self.numbers.counts(project_id)
        return tickets + reserved

    def _match(self, page: Sequence[RawItem]) -> None:
        """Match records with their tickets."""
        self.keys_read += len(page)
        records: list[KeyRecord] = []
        for record in map(key_record, page):
            match record:
                case KeyRecord():
                    records.append(record)
                case MalformedRecord():
                    name = f"the record {record.record_id}"
                    self._note_malformed(
                        Finding(FindingKind.MALFORMED, record.project_id, item=name)
                    )
        self._doubt(self.numbers.match(records))
        self.progress(self)

    def _doubt(self, unmatched: Sequence[KeyRecord]) -> None:
        """Keep the records whose tickets are still absent."""
        self.doubts |= {
            record.key
            for record, item in self.reader.named(unmatched)
            if not explains(item, record)
        }
        check_amount(len(self.doubts))

    def _note_malformed(self, finding: Finding) -> None:
        self.malformed.add(finding)
        check_amount(len(self.malformed))


def check_amount(doubts: int) -> None:
    """Reject an audit with too many suspects."""
    if doubts > MAX_DOUBTS:
        raise InputError(
            f"more than {MAX_DOUBTS} items are suspect: do the two tables belong "
            "together? Audit single projects with --project"
        )
