"""Audits the tables: are the numbers of every project exactly 1..n, one a key?

It may run while the worker writes: what looks wrong is read again before it is said.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from ticketctl.audit.findings import Finding, Kind
from ticketctl.audit.numbers import ProjectNumbers
from ticketctl.audit.reading import AuditPlan, AuditReading
from ticketctl.audit.recheck import recheck
from ticketctl.audit.results import AuditReport, ProjectAudit
from ticketctl.audit.table_reader import TableReader
from ticketctl.system.items import plain

__all__ = ["ProjectAudit", "audit", "audit_tables", "tickets_of"]


def audit(dynamodb: Any, tickets_table: str, keys_table: str) -> list[ProjectAudit]:
    """Audit both tables, and return what each project's tickets and keys say."""
    plan = AuditPlan(tickets_table, keys_table)
    return [*audit_tables(TableReader(dynamodb), plan).projects]


def audit_tables(reader: TableReader, plan: AuditPlan) -> AuditReport:
    """Read what the plan names, and check tickets and keys against each other."""
    reading = AuditReading(reader, plan)
    reading.read()
    found, is_complete = recheck(reading)
    return AuditReport(
        plan,
        tuple(_projects(reading, found)),
        is_complete,
        reading.started,
        datetime.now(UTC),
        reading.tickets_read,
        reading.keys_read,
        reader.units,
    )


def tickets_of(dynamodb: Any, table: str) -> Iterator[dict[str, Any]]:
    """Return every ticket as it is stored."""
    pages = dynamodb.get_paginator("scan").paginate(
        TableName=table, ConsistentRead=True
    )
    for page in pages:
        yield from map(plain, page["Items"])


def _projects(
    reading: AuditReading, found: Iterable[Finding]
) -> Iterator[ProjectAudit]:
    findings: dict[str, list[Finding]] = defaultdict(list)
    for finding in (*reading.malformed, *found):
        findings[finding.project_id].append(finding)
    for name in sorted({*reading.projects, *findings, *reading.plan.projects}):
        numbers = reading.projects.get(name, ProjectNumbers())
        missing = [*numbers.missing()]
        gaps = [Finding(kind, name, ends) for ends, kind in missing if kind]
        is_absent = name in reading.plan.projects and not numbers.numbers
        absent = [Finding(Kind.NO_TICKETS, name)] if is_absent else []
        wrong = sorted(findings[name], key=lambda one: (one.kind, one.numbers))
        yield ProjectAudit(
            name,
            numbers.numbers,
            (*absent, *gaps, *wrong),
            tuple(ends for ends, kind in missing if kind is None),
            numbers.from_elsewhere,
            numbers.reserved,
            numbers.voided,
            numbers.expired,
        )
