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
    from ticketctl.export import command as work

    tables = tickets_table, keys_table
    raise typer.Exit(work.export(finder(ctx), project or (), tables, save, rate))
