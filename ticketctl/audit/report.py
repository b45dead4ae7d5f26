"""Prints the result of an audit, for people or as JSON."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from ticketctl.audit.audit import AuditReport, ProjectAudit
from ticketctl.audit.reading import AuditPlan
from ticketctl.cli.output import counted, print_line, print_table_whole, sanitized, utc
from ticketctl.ledger.findings import shown_range

_CLOCKS_DIFFER: Final = timedelta(minutes=1)
"""The tolerance for machines whose clocks are set over the network."""

_MAX_ROWS: Final = 50
"""The clean projects in the table; projects with findings are all shown."""

_MAX_GAPS: Final = 3
"""The gaps in a row of the table; the findings list all."""

_MAX_NAMED: Final = 10
"""The segments or tickets in a line of the summary; JSON has all."""


def report_json(report: AuditReport, region: str, program: str) -> dict[str, Any]:
    """Return the whole report for scripts."""
    reading = report.reading
    return {
        "clean": report.is_clean,
        "region": region,
        "tickets_table": reading.reader.tickets_table,
        "keys_table": reading.reader.keys_table,
        "single_projects": [*reading.plan.projects],
        "since": dict(reading.plan.since),
        "heads_checked": len(reading.plan.heads),
        "started_at": utc(reading.started),
        "ended_at": utc(report.ended),
        "tickets_read": reading.tickets_read,
        "keys_read": reading.keys_read,
        "read_units": reading.reader.units,
        "findings": [finding.as_json(program) for finding in report.findings],
        "projects": [_project_json(project) for project in report.projects],
    }


def print_report(report: AuditReport, region: str, program: str) -> None:
    """Print projects, findings, the extent of the reading and the result."""
    print_projects(_shown(report.projects))
    for line in _summary(report, region, program):
        print_line(line, "dim")
    for finding in report.findings:
        print_line(sanitized(finding.line(program)), "red")
    if count := len(report.findings):
        print_line(f"NOT CLEAN: {counted(count, 'finding')}", "bold red")
    elif report.is_clean:
        print_line("clean", "bold green")
    else:
        print_line("NOT CLEAN: the tables are empty; the right ones?", "bold red")


def print_projects(projects: Sequence[ProjectAudit]) -> None:
    """Print a table of projects, without columns that are 0 everywhere."""
    counts = {
        "other": [len(project.findings) - len(project.gaps) for project in projects],
        "external": [project.external for project in projects],
        "no ticket": [project.no_ticket for project in projects],
        "voided": [project.voided for project in projects],
    }
    shown = {name: column for name, column in counts.items() if any(column)}
    table = Table()
    table.add_column("project", overflow="fold")
    for name in ("count", "last"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("gaps", *shown):
        table.add_column(name, justify="right", overflow="fold")
    for project, *others in zip(projects, *shown.values(), strict=True):
        gaps = [f"{first}-{last}" for first, last in project.gaps]
        table.add_row(
            Text(sanitized(project.project_id)),
            f"{project.tickets:,}",
            str(project.last),
            _first(gaps, _MAX_GAPS) or "none",
            *(f"{count:,}" for count in others),
        )
    print_table_whole(table)


def _summary(report: AuditReport, region: str, program: str) -> Iterator[str]:
    reading, reader = report.reading, report.reading.reader
    if left := len(report.projects) - len(_shown(report.projects)):
        yield f"{counted(left, 'more project')}, all clean"
    yield (
        f"{counted(len(report.projects), 'project')}: "
        f"{counted(reading.tickets_read, 'item')} of {reader.tickets_table}"
    )
    yield f"and {counted(reading.keys_read, 'key')} of {reader.keys_table} in {region},"
    yield (
        f"read consistently, {utc(reading.started)} to {utc(report.ended)}, "
        f"{counted(round(reader.units), 'read unit')}"
    )
    if no_ticket := sum(project.no_ticket for project in report.projects):
        external = sum(project.external for project in report.projects)
        yield (
            f"{no_ticket:,} of {external:,} external numbers have no ticket here; "
            f"to compare them with a file: {program} import FILE --dry-run"
        )
    yield from _lists(report)
    yield from _extent(reading.plan)


def _lists(report: AuditReport) -> Iterator[str]:
    """Yield lines about notable segments and tickets."""
    yield from _named(
        "without a chain",
        [
            shown_range(sanitized(project.project_id), ends)
            for project in report.projects
            for ends in project.unchained
        ],
    )
    yield from _named(
        "lost tickets whose hash a reserved item keeps; no head after one covers "
        "anything before it",
        [
            f"{sanitized(project.project_id)}-{number}"
            for project in report.projects
            for number in project.lost
        ],
    )
    yield from _named(
        "dated ahead of this machine's clock, so that or a worker's is wrong",
        [
            f"{sanitized(project.project_id)}-{project.last} by {ahead}"
            for project in report.projects
            if (ahead := _ahead(project.newest, report.ended))
        ],
    )


def _ahead(newest: datetime | None, now: datetime) -> timedelta | None:
    """Return the lead of a date over this clock, if it exceeds the tolerance."""
    if newest is None or newest - now <= _CLOCKS_DIFFER:
        return None
    return timedelta(seconds=round((newest - now).total_seconds()))


def _extent(plan: AuditPlan) -> Iterator[str]:
    """Yield the heads that were checked, and the checks that were not made."""
    if plan.heads:
        yield f"{counted(len(plan.heads), 'head')} checked"
    if plan.since:
        yield (
            "only tickets after the last heads were read: not those before, and no "
            "project without a head"
        )
    if plan.projects:
        yield (
            "keys without a ticket were not looked for: "
            "that takes an audit of all projects"
        )


def _named(text: str, names: Sequence[str]) -> Iterator[str]:
    """Yield a line with the first names, if there are any."""
    if names:
        yield f"{text}: {_first(names, _MAX_NAMED)}"


def _first(names: Sequence[str], most: int) -> str:
    """Return the first names and the count of the others."""
    shown, more = ", ".join(names[:most]), len(names) - most
    return f"{shown} and {more:,} more" if more > 0 else shown


def _shown(projects: Sequence[ProjectAudit]) -> list[ProjectAudit]:
    others = (project for project in projects[_MAX_ROWS:] if not project.is_clean)
    return [*projects[:_MAX_ROWS], *others]


def _project_json(project: ProjectAudit) -> dict[str, Any]:
    return {
        "project_id": project.project_id,
        "count": project.tickets,
        "first": project.first,
        "last": project.last,
        "next": project.last + 1,
        "external": project.external,
        "no_ticket": project.no_ticket,
        "voided": project.voided,
        "gaps": [[*ends] for ends in project.gaps],
        "unchained": [[*ends] for ends in project.unchained],
        "lost": [*project.lost],
        "newest": project.newest and utc(project.newest),
        "findings": len(project.findings),
    }
