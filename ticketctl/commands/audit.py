"""The command that audits the tables."""

from typing import Annotated

import typer

from ticketctl.commands.application import SEQUENCES, command, finder
from ticketctl.commands.options import Json, Rate, TicketsTable


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
        list[str] | None, typer.Option(help="Audit only this project; can be repeated.")
    ] = None,
    rate: Rate = None,
    tickets_table: TicketsTable = None,
    keys_table: Annotated[
        str | None, typer.Option(help="The table of keys that belongs to it.")
    ] = None,
    save: Annotated[
        str | None,
        typer.Option("--save-heads", help="Add the ends of all chains to this file."),
    ] = None,
    check: Annotated[
        list[str] | None,
        typer.Option(
            "--check-heads", help="Also check the heads in this file; can be repeated."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="Read only tickets after each project's last head in this file."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check that every project's numbers are exactly 1..n, one for each key.

    It also checks that each ticket has the hash that chains it to the one before it.
    Saved heads reveal a sequence that was cut or rewritten, even with new hashes.

    The audit reads both tables consistently, and may run while the worker writes: a
    suspect is read again, after a delay, before it is reported. An audit of single
    projects does not search for keys without a ticket, and uses a read unit for each
    key. 1 GB takes about 250,000 read units. Ends with status 1 if there are findings,
    or nothing to read.
    """
    from ticketctl.audit import command as work

    tables = tickets_table, keys_table
    choices = work.Choices(
        project or (), tables, save, check or (), since, rate, as_json
    )
    raise typer.Exit(work.audit(finder(ctx), choices))
