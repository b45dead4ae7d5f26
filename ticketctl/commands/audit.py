"""The command that audits the tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import print_json, spinner
from ticketctl.commands.application import SEQUENCES, command, stack_of
from ticketctl.commands.options import Json, Rate, TicketsTable

if TYPE_CHECKING:
    from ticketctl.audit.heads import KeptHead


@command(
    SEQUENCES,
    "ticketctl audit",
    "ticketctl audit --project PROJ --project OPS",
    "ticketctl audit --rate 500",
    "ticketctl audit --tickets-table restored-20261123-tickets "
    "--keys-table restored-20261123-keys",
    "ticketctl audit --check-heads heads.jsonl --save-heads heads.jsonl",
    "ticketctl audit --since heads.jsonl",
)
def audit(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    *,
    project: Annotated[
        list[str] | None,
        typer.Option(help="Audit this project alone; can be repeated."),
    ] = None,
    rate: Rate = None,
    tickets_table: TicketsTable = None,
    keys_table: Annotated[
        str | None, typer.Option(help="The idempotency keys' table that belongs to it.")
    ] = None,
    save: Annotated[
        str | None,
        typer.Option("--save-heads", help="Add the ends of all chains to this file."),
    ] = None,
    check: Annotated[
        list[str] | None,
        typer.Option(
            "--check-heads", help="Check the heads of this file, too; can be repeated."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(help="Read only tickets after each project's last head there."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check that every project's numbers are exactly 1..n, one for each key.

    And that each ticket has the hash that chains it to the one before it. Heads that
    were saved show a sequence that was cut or written again, even with new hashes.

    It reads both tables, consistently, and may run while the worker writes: a suspect
    is read again, after a delay, before it is reported. An audit of single
    projects does not look for keys without a ticket, and reads a unit for each key.
    Reading 1 GB takes about 250,000 read units. Ends with status 1 if anything was
    found, or if there was nothing to read.
    """
    from ticketctl.audit.audit import audit_checked
    from ticketctl.audit.heads import add_heads, read_heads
    from ticketctl.audit.reading import AuditPlan
    from ticketctl.audit.report import print_report, report_json
    from ticketctl.aws.rate_limiter import RateLimiter
    from ticketctl.aws.table_reader import TableReader
    from ticketctl.cli.arguments import checked_project

    given = (tickets_table, keys_table)
    # An empty name is a script's mistake, and must not stand for the live tables.
    if "" in given or given.count(None) == 1:
        raise InputError(
            "give both --tickets-table and --keys-table: they belong together"
        )
    projects = tuple(dict.fromkeys(map(checked_project, project or ())))
    is_begun = save and Path(save).exists() and Path(save).stat().st_size
    known = read_heads(save) if save and is_begun else []
    heads = [head for path in check or () for head in read_heads(path, projects)]
    last = _last_heads(since, projects) if since else []
    stack = stack_of(ctx)
    reader = TableReader.of(stack, limiter=RateLimiter(rate))
    if tickets_table and keys_table:
        reader.tickets_table, reader.keys_table = tickets_table, keys_table
    plan = AuditPlan(
        projects or tuple(dict.fromkeys(head.project_id for head in last)),
        stack.retention_days,
        heads=[*heads, *last],
        since={head.project_id: head.number for head in last},
    )
    with spinner("reading both tables") as show:
        report = audit_checked(reader, plan, show)
    if as_json:
        print_json(report_json(report, stack.region))
    else:
        print_report(report, stack.region)
    if save:  # Last, so that no finding is lost with a file that cannot be written.
        add_heads(save, report.heads(known))
    if not report.is_clean:
        raise typer.Exit(Status.PROBLEM)


def _last_heads(path: str, projects: Sequence[str]) -> Sequence["KeptHead"]:
    """Return the last heads of each project, or of these."""
    from ticketctl.audit.heads import last_heads, read_heads

    last = last_heads(read_heads(path, projects))
    if missing := {*projects} - {head.project_id for head in last}:
        raise InputError(f"{path}: no head of {', '.join(sorted(missing))}")
    return last
