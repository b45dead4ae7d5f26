"""Reads both tables for an audit, and keeps the suspects.

The tickets come first: a key whose ticket was written after the tickets were read is
then the common doubt on a live system, and is looked up page by page.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from ticket_numbering.contract.dynamodb_items import RECORD_ID, key_of_id
from ticket_numbering.contract.messages import RequestKey
from ticketctl.audit.heads import Head
from ticketctl.aws.items import KeyRecord, Ticket, key_record, ticket
from ticketctl.aws.table_reader import Item, TableReader
from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.ledger.agreement import expiry_of, explains
from ticketctl.ledger.chain import ChainCheck, link_of
from ticketctl.ledger.database import Numbers
from ticketctl.ledger.findings import Finding, Kind, Range

MAX_DOUBTS: Final = 10_000
"""More mean that the tables do not belong together, and need not be listed."""


@dataclass(frozen=True)
class AuditPlan:
    """The projects to audit, and against what."""

    projects: tuple[str, ...] = ()
    """Only these; all if there are none."""
    retention_days: int = 0
    """The retention of keys; 0 stands for ever."""
    heads: Sequence[Head] = ()
    """The heads to check."""
    since: Mapping[str, int] = field(default_factory=dict)
    """The last number of a project that is not read, because its head covers it."""


@dataclass
class AuditReading:
    """The numbers and the suspects of both tables."""

    reader: TableReader
    plan: AuditPlan
    numbers: Numbers
    progress: Callable[["AuditReading"], None] = lambda _: None
    """Takes it after each page."""
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    chains: dict[str, ChainCheck] = field(
        default_factory=lambda: defaultdict(ChainCheck)
    )
    """Of each project that has an item."""
    malformed: set[Finding] = field(default_factory=set)
    doubts: set[RequestKey] = field(default_factory=set)
    """Keys whose records name no ticket of theirs."""
    tickets_read: int = 0
    keys_read: int = 0

    def read(self) -> None:
        """Read all tickets and keys, or those of single projects."""
        for project_id in self.plan.projects:
            self._read_project(project_id)
        if not self.plan.projects:
            for page in self.reader.scan(self.reader.tickets_table):
                self._add(page)
            self._read_in_order()
            for page in self.reader.scan(self.reader.keys_table):
                self._match(page)

    def read_again(self, missing: Iterable[tuple[str, Range]]) -> None:
        """Look again for missing numbers."""
        for project_id, ends in missing:
            check = ChainCheck()
            for found in self.tickets_between(project_id, ends, check):
                self.tickets_read += 1
                self._take(found, check)
            for kind, suspects in check.suspects():
                self.chains[project_id].runs[kind].append(suspects)

    def tickets_between(
        self, project_id: str, ends: Range, check: ChainCheck
    ) -> Iterator[Ticket]:
        """Read a range of tickets; let the check have the one before them."""
        before = ends[0] - 1
        between = "BETWEEN :0 AND :1"
        for page in self.reader.project(project_id, between, before, ends[1]):
            for found in map(ticket, page):
                if found.has_number and found.number == before:
                    check.before = link_of(found)
                else:
                    yield found

    def _read_project(self, project_id: str) -> None:
        """Read a project's tickets, and the records of their keys."""
        start = self.plan.since.get(project_id)
        side = ("",) if start is None else (">= :0", start)
        for page in self.reader.project(project_id, *side):
            self._match([item for _, item in self.reader.records(self._add(page))])

    def _add(self, page: Sequence[Item]) -> set[RequestKey]:
        """Add tickets, and return their keys."""
        keys: set[RequestKey] = set()
        for found in map(ticket, page):
            start = self.plan.since.get(found.project_id)
            if found.has_number and found.number == start:
                self.chains[found.project_id].before = link_of(found)
                continue
            self.tickets_read += 1
            self._take(found)
            if not found.is_malformed and found.idempotency_key is not None:
                keys.add(RequestKey(found.project_id, found.idempotency_key))
        self.progress(self)
        return keys

    def _take(self, found: Ticket, check: ChainCheck | None = None) -> None:
        """Add a ticket, and let a check follow it; its project's by default."""
        if found.is_malformed:
            name = f"the ticket {found.project_id}, {found.fields['number']}"
            self._note_malformed(found.project_id, name)
        if found.has_number:  # Malformed or not, it is not missing.
            chain = check or self.chains[found.project_id]
            is_judged = chain.follow(found)
            check_amount(sum(map(len, chain.runs.values())))
            expiry = expiry_of(found, self.plan.retention_days)
            is_expired = expiry is not None and expiry <= self.started
            self.numbers.add(found, is_expired=is_expired, is_judged=is_judged)

    def _read_in_order(self) -> None:
        """Read again the projects whose tickets did not come in order."""
        for project_id, chain in self.chains.items():
            if chain.is_out_of_order:
                self.chains[project_id] = ChainCheck()
                for page in self.reader.project(project_id):
                    for found in map(ticket, page):
                        self._take(found)

    def _match(self, page: Sequence[Item]) -> None:
        """Match records with their tickets."""
        self.keys_read += len(page)
        lost: list[KeyRecord] = []
        for item in page:
            try:
                record = key_record(item)
            except NotThereError:
                identity = item[RECORD_ID]["S"]
                project_id = key_of_id(identity).project_id
                self._note_malformed(project_id, f"the record {identity}")
                continue
            if not self.numbers.match(record):
                lost.append(record)
        self._doubt(lost)
        self.progress(self)

    def _doubt(self, lost: Sequence[KeyRecord]) -> None:
        """Keep the records whose tickets are still absent."""
        places = {(record.project_id, record.number) for record in lost}
        there = self.reader.tickets(places)
        self.doubts |= {
            RequestKey(record.project_id, record.idempotency_key)
            for record in lost
            if not explains(there.get((record.project_id, record.number)), record)
        }
        check_amount(len(self.doubts))

    def _note_malformed(self, project_id: str, item: str) -> None:
        self.malformed.add(Finding(Kind.MALFORMED, project_id, item=item))
        check_amount(len(self.malformed))


def check_amount(doubts: int) -> None:
    """Refuse to go on with too many suspects."""
    if doubts > MAX_DOUBTS:
        raise InputError(
            f"more than {MAX_DOUBTS} items look wrong: do the two tables belong "
            "together? Audit single projects with --project"
        )
