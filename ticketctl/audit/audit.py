"""Audits the tables: the numbers of a project must be exactly 1..n, one for each key.

An audit may run while the worker writes: a suspect is read again before it is reported.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ticket_numbering.contract.dynamodb_items import NUMBER, RECORD_ID
from ticket_numbering.contract.field_types import moment_of, timestamp
from ticketctl.audit.heads import KeptHead, check_heads, heads_of
from ticketctl.audit.reading import AuditPlan, AuditReading
from ticketctl.audit.recheck import recheck
from ticketctl.aws.table_reader import TableReader
from ticketctl.ledger.database import AuditDatabase
from ticketctl.ledger.findings import Finding, FindingKind, Range
from ticketctl.ledger.judge import unfinished


@dataclass(frozen=True)
class ProjectAudit:
    """The audit of one project."""

    project_id: str
    tickets: int = 0
    """The count of tickets, without reserved numbers."""
    first: int = 0
    """The lowest number; 0 if there is no ticket."""
    last: int = 0
    """The highest number, possibly that of a head; 0 if there is no ticket."""
    voided: int = 0
    imported: int = 0
    no_ticket: int = 0
    """The count of external numbers without a ticket: reserved, or missing."""
    findings: Sequence[Finding] = ()
    unchained: Sequence[Range] = ()
    """The first and the last number of each segment without hashes."""
    lost: Sequence[int] = ()
    """The numbers of lost tickets."""
    newest: datetime | None = None
    """The date of the last ticket; no earlier chained ticket has a later date."""
    ends: Sequence[int] = ()
    """The last ticket of each segment of the chain, or of a part of a segment."""

    @property
    def gaps(self) -> tuple[tuple[int, ...], ...]:
        """The first and the last number of each unexplained gap."""
        return tuple(
            finding.numbers
            for finding in self.findings
            if finding.kind is FindingKind.GAP
        )

    @property
    def external(self) -> int:
        """The count of numbers from another system, imported or not."""
        return self.imported + self.no_ticket

    @property
    def is_clean(self) -> bool:
        """Whether the project has no finding."""
        return not self.findings


@dataclass(frozen=True)
class AuditReport:
    """The result of an audit."""

    reading: AuditReading
    projects: tuple[ProjectAudit, ...]
    """By id."""
    ended: datetime

    @property
    def findings(self) -> list[Finding]:
        """All findings, by project."""
        return [finding for project in self.projects for finding in project.findings]

    @property
    def is_clean(self) -> bool:
        """Whether there is no finding, and something was read or a head was checked."""
        reading = self.reading
        is_empty = reading.tickets_read == reading.keys_read == 0
        return not (self.findings or (is_empty and not reading.plan.heads))

    def heads(self, known: Iterable[KeptHead] = ()) -> list[KeptHead]:
        """Read the end of each segment of the chain, except for known heads.

        A ticket that does not fit the chain is no head.
        """
        ticket_ids = [
            (project.project_id, number)
            for project in self.projects
            for number in project.ends
        ]
        there = {head.ticket_id for head in known}
        wanted = [ticket_id for ticket_id in ticket_ids if ticket_id not in there]
        when = timestamp(self.reading.started)
        return [*heads_of(self.reading.reader, wanted, when)]


def audit_checked(
    reader: TableReader, plan: AuditPlan, show: Callable[[str], None] = lambda _: None
) -> AuditReport:
    """Check the keys of the tables, then audit them, and show the progress."""
    tickets = reader.check_key(reader.tickets_table, "project_id", NUMBER)
    keys = reader.check_key(reader.keys_table, RECORD_ID)
    about = "" if plan.projects else f" of about {tickets:,} and {keys:,}"

    def progress(reading: AuditReading) -> None:
        show(f"{reading.tickets_read:,} tickets and {reading.keys_read:,} keys{about}")

    return audit_tables(reader, plan, progress)


def audit_tables(
    reader: TableReader,
    plan: AuditPlan,
    progress: Callable[[AuditReading], None] = lambda _: None,
) -> AuditReport:
    """Read the tables, and compare tickets and keys."""
    with AuditDatabase(plan.since) as numbers:
        reading = AuditReading(reader, plan, numbers, progress)
        reading.read()
        findings = [
            *recheck(reading),
            *check_heads(reader, plan.heads),
            *sorted(reading.malformed, key=str),
        ]
        projects = tuple(_projects(reading, findings))
    return AuditReport(reading, projects, datetime.now(UTC))


def _projects(
    reading: AuditReading, of_judge: Iterable[Finding]
) -> Iterator[ProjectAudit]:
    findings: dict[str, list[Finding]] = defaultdict(list)
    for finding in of_judge:
        findings[finding.project_id].append(finding)
    plan, numbers = reading.plan, reading.numbers
    for name in sorted({*reading.chains, *findings, *plan.projects}):
        tickets, first, last, voided, imported, reserved = numbers.counts(name)
        if not findings[name]:  # With a finding the head may be wrong.
            last = last or plan.since.get(name, 0)
        missing = [*numbers.missing(name)]
        explained = sum(end - begin + 1 for (begin, end), kind in missing if not kind)
        is_wanted = name in plan.projects and name not in plan.since
        absent = [Finding(FindingKind.NO_TICKETS, name)] * (is_wanted and not last)
        gaps = [Finding(kind, name, ends) for ends, kind in missing if kind]
        for guard in numbers.guards(name):
            gaps += unfinished(name, guard, last)
        wrong = sorted(
            findings[name], key=lambda finding: (finding.kind, finding.numbers)
        )
        yield ProjectAudit(
            name,
            *(tickets, first, last, voided, imported, reserved + explained),
            findings=(*absent, *gaps, *wrong),
            unchained=numbers.unchained(name),
            lost=numbers.lost(name),
            newest=moment_of(reading.chains[name].before.assigned_at),
            ends=numbers.ends(name),
        )
