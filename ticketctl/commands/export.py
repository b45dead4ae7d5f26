"""The command that exports tickets."""

from contextlib import nullcontext
from typing import Annotated, Final

import typer

from ticketctl.cli.errors import NotThereError, Status
from ticketctl.cli.output import (
    console,
    counted,
    note_if_interrupted,
    print_note,
    program,
    spinner,
)
from ticketctl.commands.application import TICKETS, command, stack_of
from ticketctl.commands.options import KeysTable, Rate, Save, TicketsTable

STEP: Final = 100
"""Items between two updates of the progress."""


@command(
    TICKETS,
    "ticketctl export --save tickets.jsonl",
    "ticketctl export --project PROJ | jq -r 'select(.kind == null).title'",
    "ticketctl export --rate 500 | gzip > tickets.jsonl.gz",
    "ticketctl export --tickets-table restored-tickets --keys-table restored-keys",
)
def export(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    *,
    project: Annotated[
        list[str] | None,
        typer.Option(help="Export this project alone; can be repeated."),
    ] = None,
    save: Save = None,
    rate: Rate = None,
    tickets_table: TicketsTable = None,
    keys_table: KeysTable = None,
) -> None:
    """Print every ticket whole, a JSON document a line.

    And the items of reserved numbers, with their status; then, with a `kind`, the
    records of keys that no ticket explains, and a last line with the counts. With
    another table of tickets alone there are no records. `ticketctl restore` puts
    the lines back, and docs/examples/verify.py checks their chain.

    It reads consistently, and may run while the worker writes: each project comes as
    it was at one moment or another, without a hole. Reading 1 GB takes about 250,000
    read units, and the keys are read whole, too. The count is on standard error, after
    NOT WHOLE if it ended before its end. Ends with status 1 if a number is missing, or
    a named project has no tickets.
    """
    from ticket_numbering.contract.dynamodb_items import NUMBER, RECORD_ID
    from ticketctl.aws.items import json_values
    from ticketctl.aws.rate_limiter import RateLimiter
    from ticketctl.aws.table_reader import TableReader
    from ticketctl.cli.arguments import checked_project
    from ticketctl.export.export import Export
    from ticketctl.export.unexplained import Unexplained
    from ticketctl.files.exported import end_line, record_line
    from ticketctl.files.whole_file import so_far, writing
    from ticketctl.ledger.database import AuditDatabase

    projects = tuple(dict.fromkeys(map(checked_project, project or ())))
    stack = stack_of(ctx)
    reader = TableReader.of(stack, limiter=RateLimiter(rate))
    if tickets_table is not None:  # Not an empty one, which AWS refuses.
        reader.tickets_table = tickets_table
    if keys_table is not None:
        reader.keys_table = keys_table
    has_keys = tickets_table is None or keys_table is not None
    about = reader.check_key(reader.tickets_table, "project_id", NUMBER)
    if has_keys:
        reader.check_key(reader.keys_table, RECORD_ID)
    tickets = Export(reader, projects)
    of_about = "" if projects else f" of about {about:,}"
    is_on_screen = console().is_terminal and not save  # The lines themselves show it.
    with (
        writing(save) as write,
        note_if_interrupted(lambda: so_far(save, counted(tickets.items, "item"))),
        nullcontext() if is_on_screen else spinner("exporting") as show,
        AuditDatabase({}) as numbers,
    ):
        unexplained = Unexplained(reader, numbers, projects)
        for item in tickets.tickets():
            write(json_values(item.fields))
            unexplained.note(item)
            if show and tickets.items % STEP == 0:
                show(f"exporting: {tickets.items:,}{of_about}")
        for record in unexplained.records() if has_keys else ():
            write(record_line(json_values(record.fields)))
        records = unexplained.count if has_keys else None
        write(end_line(tickets.items, records, tickets.missing))
    counts = counted(tickets.items, "item"), counted(len(tickets.last), "project")
    print_note(f"exported {' of '.join(counts)}{f' to {save}' if save else ''}")
    if absent := {*projects} - tickets.last.keys():
        raise NotThereError(f"no tickets: {', '.join(sorted(absent))}")
    if tickets.missing:
        print_note(
            f"missing: {counted(tickets.missing, 'number')}; see: {program} audit"
        )
        raise typer.Exit(Status.PROBLEM)
