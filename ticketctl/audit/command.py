"""The work of the audit command: audits a stack's tables, prints the report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ticketctl.audit.audit import audit_checked
from ticketctl.audit.heads import KeptHead, add_heads, last_heads, read_heads
from ticketctl.audit.reading import AuditPlan
from ticketctl.audit.report import print_report, report_json
from ticketctl.aws.retry import RateLimiter
from ticketctl.aws.stack import Stack
from ticketctl.aws.table_reader import TableReader
from ticketctl.cli.arguments import checked_projects
from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import print_json, spinner


@dataclass(frozen=True)
class Choices:
    """The options of an audit."""

    projects: Sequence[str] = ()
    tables: tuple[str | None, str | None] = (None, None)
    """The tables of tickets and of keys, in place of the stack's."""
    save: str | None = None
    """The file to which the ends of all chains are added."""
    check: Sequence[str] = ()
    since: str | None = None
    """The file of heads; only tickets after each project's last head are read."""
    rate: int | None = None
    as_json: bool = False


def audit(find_stack: Callable[[], Stack], choices: Choices) -> Status:
    """Audit the tables, and print the report."""
    tables, save = choices.tables, choices.save
    # An empty name is a script's mistake, and must not select the live tables.
    if "" in tables or tables.count(None) == 1:
        raise InputError(
            "give both --tickets-table and --keys-table: they belong together"
        )
    projects = checked_projects(choices.projects)
    is_begun = save and Path(save).exists() and Path(save).stat().st_size
    known = read_heads(save) if save and is_begun else []
    heads = [head for path in choices.check for head in read_heads(path, projects)]
    last = _last_heads(choices.since, projects) if choices.since else []
    stack = find_stack()
    reader = TableReader.of(stack, *tables, limiter=RateLimiter(choices.rate))
    plan = AuditPlan(
        projects or tuple(dict.fromkeys(head.project_id for head in last)),
        stack.retention_days,
        heads=[*heads, *last],
        since={head.project_id: head.number for head in last},
    )
    with spinner("reading both tables") as show:
        report = audit_checked(reader, plan, show)
    if choices.as_json:
        print_json(report_json(report, stack.region, stack.program))
    else:
        print_report(report, stack.region, stack.program)
    if save:  # Last, so that the findings are printed even if the file fails.
        add_heads(save, report.heads(known))
    return Status.OK if report.is_clean else Status.PROBLEM


def _last_heads(path: str, projects: Sequence[str]) -> Sequence[KeptHead]:
    """Return the last head of each project, or of the given projects."""
    last = last_heads(read_heads(path, projects))
    if missing := {*projects} - {head.project_id for head in last}:
        raise InputError(f"{path}: no head of {', '.join(sorted(missing))}")
    return last
