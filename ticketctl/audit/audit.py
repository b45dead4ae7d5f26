"""Audits the tables: are the numbers of every project exactly 1..n, one a key?

It may run while the worker writes: what looks wrong is read again before it is said.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from ticketctl.audit.findings import Finding, Kind
from ticketctl.audit.plan import AuditPlan
from ticketctl.audit.read_meter import ReadingStoppedError, ReadMeter
from ticketctl.audit.reading import MOST, AuditReading
from ticketctl.audit.results import AuditReport, Coverage, ProjectAudit
from ticketctl.audit.suspicions import confirmed
from ticketctl.audit.table_scan import TableReader
from ticketctl.audit.ticket_index import ProjectNumbers
from ticketctl.system.items import plain

__all__ = ["ProjectAudit", "audit", "audit_tables", "judge", "tickets_of"]


def audit(dynamodb: Any, tickets_table: str, keys_table: str) -> list[ProjectAudit]:
    """Audit both tables, and return what each project's tickets and keys say."""
    reader = TableReader(dynamodb, ReadMeter())
    return [*audit_tables(reader, AuditPlan(tickets_table, keys_table)).projects]


def audit_tables(reader: TableReader, plan: AuditPlan) -> AuditReport:
    """Read what the plan names, and check tickets and keys against each other.

    Where the meter stops the reading, only what was surely found is reported.
    """
    return judge(AuditReading(reader, plan))


def judge(reading: AuditReading) -> AuditReport:
    """Do the reading, and say what it came to."""
    plan, meter = reading.plan, reading.reader.meter
    tickets = keys = suspicions = False
    found: list[Finding] = []
    try:
        reading.read_tickets()
        reading.fill_gaps()
        tickets = True
        reading.read_keys()
        keys = True
        for finding in islice(confirmed(reading), MOST):
            found.append(finding)  # noqa: PERF402 - kept if the reading stops.
        suspicions = len(found) < MOST and len(reading.suspects) <= MOST
    except ReadingStoppedError:
        pass
    return AuditReport(
        plan,
        Coverage(tickets, keys, suspicions, bool(plan.projects), meter.is_spent),
        tuple(_projects(reading, found, tickets=tickets, keys=keys)),
        reading.started,
        datetime.now(UTC),
        reading.tickets_read,
        reading.keys_read,
        meter.units,
    )


def tickets_of(dynamodb: Any, table: str) -> Iterator[dict[str, Any]]:
    """Return every ticket as it is stored."""
    pages = dynamodb.get_paginator("scan").paginate(
        TableName=table, ConsistentRead=True
    )
    for page in pages:
        yield from map(plain, page["Items"])


def _projects(
    reading: AuditReading, found: Iterable[Finding], *, tickets: bool, keys: bool
) -> Iterator[ProjectAudit]:
    """Put together what is known of each project; claim gaps only if all was read."""
    findings: dict[str, list[Finding]] = defaultdict(list)
    for finding in (*reading.malformed, *found):
        findings[finding.project_id].append(finding)
    known = reading.index.projects
    old = reading.index.unmet(old=True) if keys else ()
    expired = Counter(project_id for project_id, _ in old)
    for name in sorted({*known, *findings, *reading.plan.projects}):
        numbers = known.get(name) or ProjectNumbers(0)
        missing = [*numbers.missing()] if tickets else []
        gaps = [
            Finding(kind, name, (first, last)) for first, last, kind in missing if kind
        ]
        is_absent = tickets and name in reading.plan.projects and not numbers.numbers
        absent = [Finding(Kind.NO_TICKETS, name)] if is_absent else []
        wrong = sorted(findings[name], key=lambda each: (each.kind, each.numbers))
        yield ProjectAudit(
            name,
            numbers.numbers,
            (*absent, *gaps, *wrong),
            tuple((first, last) for first, last, kind in missing if kind is None),
            len(numbers.elsewhere),
            numbers.reserved,
            numbers.voided,
            expired[name],
        )
