"""The command that exports tickets."""

from typing import Annotated

import typer

from ticketctl.commands.application import TICKETS, command, finder
from ticketctl.commands.options import KeysTable, Rate, Save, TicketsTable


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
        typer.Option(help="Export only this project; can be repeated."),
    ] = None,
    save: Save = None,
    rate: Rate = None,
    tickets_table: TicketsTable = None,
    keys_table: KeysTable = None,
) -> None:
    """Print every ticket with all attributes, one JSON object a line.

    Items of reserved numbers are printed, too, with their status. Then follow, with a
    `kind`, the records of keys that no ticket explains, and a last line with the
    counts. With --tickets-table and no --keys-table there are no records.
    `ticketctl restore` writes the lines back, and docs/examples/verify.py checks their
    chain.

    The export reads consistently, and may run while the worker writes: each project is
    a state of some moment, without a gap. 1 GB takes about 250,000 read units, and the
    table of keys is read completely, too. The count is on standard error, after
    NOT WHOLE if the export was interrupted. Ends with status 1 if a number is missing,
    or a named project has no tickets.
    """
    from ticketctl.export import command as work

    tables = tickets_table, keys_table
    raise typer.Exit(work.export(finder(ctx), project or (), tables, save, rate))
