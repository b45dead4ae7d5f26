"""Prints what an audit came to."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from ticketctl.audit.findings import Kind
from ticketctl.audit.results import AuditReport, ProjectAudit, Range
from ticketctl.cli.output import console, visible

_MOST_ROWS: Final = 50
"""Projects in the table, unless something was found in them."""

_COLUMNS: Final = (
    *("project", "gaps", "other", "count", "first", "last", "next"),
    *("elsewhere", "voided"),
)
"""By importance: the last ones go first where there is no room."""

_FOLDED: Final = {"project": 14, "gaps": 20}
"""Columns that may take several lines, each with the width that is enough."""


def report_json(report: AuditReport, region: str) -> dict[str, Any]:
    """Return the whole report for scripts."""
    looked_for = report.coverage.looked_for
    return {
        "clean": report.is_clean,
        "complete": report.coverage.is_complete,
        "looked_for": [str(each) for each in looked_for],
        "not_looked_for": [str(each) for each in _not_looked_for(report)],
        "region": region,
        "tickets_table": report.plan.tickets_table,
        "keys_table": report.plan.keys_table,
        "single_projects": [*report.plan.projects],
        "started_at": report.started.isoformat(timespec="seconds"),
        "ended_at": report.ended.isoformat(timespec="seconds"),
        "tickets_read": report.tickets_read,
        "keys_read": report.keys_read,
        "read_units": report.read_units,
        "consistent_reads": True,
        "findings": [each.as_json() for each in report.findings],
        "projects": [_project_json(each) for each in report.projects],
    }


def print_report(report: AuditReport, region: str) -> None:
    """Print projects, findings, what was covered and the verdict."""
    out = console()
    out.print(_table(report.projects, out.width), soft_wrap=False)
    for line in _summary(report, region):
        out.print(Text(line, style="dim"))
    for finding in report.findings:
        out.print(Text(visible(str(finding)), style="red"))
    out.print(_verdict(report))


def _verdict(report: AuditReport) -> Text:
    count = sum(1 for _ in report.findings)
    found = "1 finding" if count == 1 else f"{count:,} findings"
    if not report.coverage.is_complete:
        so_far = f"{found} so far" if count else "nothing wrong so far"
        missing = ", ".join(_not_looked_for(report))
        spent = report.coverage.budget_spent
        why = "the read units are used up" if spent else "there is too much to look at"
        line = f"INCOMPLETE, for {why}: {so_far}; not looked for: {missing}"
        return Text(line, style="bold yellow")
    if count:
        return Text(f"NOT CLEAN: {found}", style="bold red")
    return Text("clean", style="bold green")


def _summary(report: AuditReport, region: str) -> Iterator[str]:
    plan = report.plan
    if left := len(report.projects) - len(_shown(report.projects)):
        yield f"{left:,} more projects, all clean"
    yield (
        f"{len(report.projects):,} projects, {report.tickets_read:,} tickets and "
        f"{report.keys_read:,} keys read consistently from {plan.tickets_table} and "
        f"{plan.keys_table} in {region}, {report.started:%Y-%m-%d %H:%M:%S} to "
        f"{report.ended:%H:%M:%S} UTC, {report.read_units:,.0f} read units"
    )
    if plan.projects:
        yield (
            "keys without a ticket were not looked for: "
            "that takes an audit of all projects"
        )


def _table(projects: Sequence[ProjectAudit], width: int) -> Table:
    rows = [_row(each) for each in _shown(projects)]
    totals = [_totals(projects)] if len(projects) > 1 else []
    names = _fitting([*rows, *totals], width)
    left_out = ", ".join(_COLUMNS[len(names) :])
    table = Table(caption=f"no room for: {left_out}" if left_out else None)
    for name in names:
        if name in _FOLDED:
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right", no_wrap=True)
    for section in (rows, totals):
        for row in section:
            table.add_row(*(Text(row[name]) for name in names))
        table.add_section()
    return table


def _fitting(rows: Sequence[Mapping[str, str]], width: int) -> tuple[str, ...]:
    """Return the columns for which there is room, but all that tell of findings."""
    room = width - 1  # The frame's edge; each column brings a line and two spaces.
    for place, name in enumerate(_COLUMNS):
        needed = max(map(len, [name, *(row[name] for row in rows)]))
        room -= min(needed, _FOLDED.get(name, needed)) + 3
        if room < 0:
            return _COLUMNS[: max(place, 3)]
    return _COLUMNS


def _shown(projects: Sequence[ProjectAudit]) -> list[ProjectAudit]:
    return [
        each
        for place, each in enumerate(projects)
        if place < _MOST_ROWS or not each.is_clean
    ]


def _row(project: ProjectAudit) -> dict[str, str]:
    return {
        "project": visible(project.project_id),
        "gaps": _ranges(project.gaps),
        "other": f"{len(project.findings) - len(project.gaps):,}",
        "count": f"{len(project.present):,}",
        "first": str(project.first),
        "last": str(project.last),
        "next": str(project.last + 1),
        "voided": f"{project.voided:,}",
        "elsewhere": f"{project.from_elsewhere + _length(project.elsewhere):,}",
    }


def _totals(projects: Sequence[ProjectAudit]) -> dict[str, str]:
    gaps = sum(len(each.gaps) for each in projects)
    elsewhere = sum(each.from_elsewhere + _length(each.elsewhere) for each in projects)
    return {
        "project": "total",
        "gaps": f"{gaps:,}",
        "other": f"{sum(len(each.findings) for each in projects) - gaps:,}",
        "count": f"{sum(len(each.present) for each in projects):,}",
        "first": "",
        "last": "",
        "next": "",
        "voided": f"{sum(each.voided for each in projects):,}",
        "elsewhere": f"{elsewhere:,}",
    }


def _ranges(ranges: Sequence[Range]) -> str:
    few = 3
    shown = [f"{first}-{last}" for first, last in ranges[:few]]
    more = [f"and {len(ranges) - few} more"] if len(ranges) > few else []
    return ", ".join([*shown, *more]) or "0"


def _length(ranges: Sequence[Range]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _not_looked_for(report: AuditReport) -> list[Kind]:
    looked_for = {*report.coverage.looked_for, Kind.NO_TICKETS}
    return [each for each in Kind if each not in looked_for]


def _project_json(project: ProjectAudit) -> dict[str, Any]:
    return {
        "project_id": project.project_id,
        "count": len(project.present),
        "first": project.first,
        "last": project.last,
        "next": project.last + 1,
        "voided": project.voided,
        "reserved": project.reserved,
        "from_elsewhere": project.from_elsewhere,
        "elsewhere": [[*each] for each in project.elsewhere],
        "gaps": [[*each] for each in project.gaps],
        "expired_keys": project.expired,
        "findings": len(project.findings),
    }
