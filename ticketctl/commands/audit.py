"""The command that audits the tables."""

from dataclasses import replace
from datetime import timedelta
from math import isfinite
from typing import Annotated, Final

import typer

from ticketctl.audit.audit import audit_tables
from ticketctl.audit.plan import AuditPlan
from ticketctl.audit.progress import progress
from ticketctl.audit.read_meter import ReadMeter
from ticketctl.audit.report import print_report, report_json
from ticketctl.audit.results import AuditReport
from ticketctl.audit.table_scan import TableReader
from ticketctl.cli.app import NUMBERS, Json, app, examples, stack_of
from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import print_json
from ticketctl.show.lookup import checked_project
from ticketctl.system.stack import Stack

_READING: Final = "Reading"


def _finite(value: float | None) -> float | None:
    """Refuse `inf`, which is a number to Python, and above every minimum."""
    if value is not None and not isfinite(value):
        message = f"{value} is not a finite number."
        raise typer.BadParameter(message)
    return value


@app.command(
    "audit",
    rich_help_panel=NUMBERS,
    epilog=examples(
        "ticketctl audit",
        "ticketctl audit --project PROJ --project OPS",
        "ticketctl audit --segments 16 --read-units-per-second 500",
        "ticketctl audit --tickets-table restored-tickets --keys-table restored-keys",
    ),
)
def audit(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    *,
    project: Annotated[
        list[str] | None,
        typer.Option(help="Audit this project alone; can be repeated."),
    ] = None,
    tickets_table: Annotated[
        str | None, typer.Option(help="Another table of tickets: a restored one, say.")
    ] = None,
    keys_table: Annotated[
        str | None, typer.Option(help="The idempotency keys' table that belongs to it.")
    ] = None,
    max_read_units: Annotated[
        float | None,
        typer.Option(
            min=1,
            callback=_finite,
            help="Use no more than that; a single thread reads then.",
            rich_help_panel=_READING,
        ),
    ] = None,
    read_units_per_second: Annotated[
        float | None,
        typer.Option(
            min=1,
            callback=_finite,
            help="Read no faster than that, on average.",
            rich_help_panel=_READING,
        ),
    ] = None,
    segments: Annotated[
        int,
        typer.Option(
            min=1, max=50, help="Threads that read.", rich_help_panel=_READING
        ),
    ] = 4,
    as_document: Json = False,
) -> None:
    """Check that every project's numbers are exactly 1..n, one for each key.

    It reads both tables, consistently, and may run while the worker writes: what
    looks wrong is read again before it is reported. A project alone costs less, but
    then keys without a ticket are not looked for. Reading 1 GB takes about 250,000
    read units. Ends with status 1 if anything was found, or if it had to stop early.
    """
    stack = stack_of(ctx)
    if (tickets_table is None) != (keys_table is None):
        message = "give both --tickets-table and --keys-table: they belong together"
        raise InputError(message)
    plan = AuditPlan(
        tickets_table or stack.outputs["TicketsTableName"],
        keys_table or stack.outputs["IdempotencyKeysTableName"],
        tuple(dict.fromkeys(map(checked_project, project or ()))),
        1 if max_read_units else segments,  # What others take could not be foreseen.
        _retention(stack),
    )
    meter = ReadMeter(max_read_units, read_units_per_second)
    report = _audit(TableReader(stack.client("dynamodb"), meter), plan)
    if as_document:
        print_json(report_json(report, stack.region))
    else:
        print_report(report, stack.region)
    if not report.is_clean:
        raise typer.Exit(Status.FOUND)


def _audit(reader: TableReader, plan: AuditPlan) -> AuditReport:
    """Make sure of the tables first: a wrong name is no finding."""
    tickets = reader.expect(plan.tickets_table, ("project_id", "number"))
    keys = reader.expect(plan.keys_table, ("id",))
    with progress(0 if plan.projects else tickets + keys) as on_read:
        return audit_tables(reader, replace(plan, on_read=on_read))


def _retention(stack: Stack) -> timedelta | None:
    """Return how long the stack keeps idempotency keys, if not for ever."""
    days = int(stack.parameters.get("IdempotencyRetentionDays", "0"))
    return timedelta(days=days) if days else None
