"""The commands that send tickets."""

from typing import Annotated
from uuid import uuid4

import typer

from ticket_numbering.contract.values import MAX_NUMBER, PRIORITIES
from ticketctl.commands.application import TICKETS, command, finder, program_of
from ticketctl.commands.options import (
    File,
    Json,
    JsonLines,
    completed_by,
)

Wait = Annotated[
    bool,
    typer.Option(
        help="Wait for the numbers, print each; status 1 if one is missing or refused."
    ),
]
Timeout = Annotated[
    int,
    typer.Option(
        min=1, help="With --wait: give up after this many seconds without an answer."
    ),
]


@command(
    TICKETS,
    'ticketctl send --project WEB --title "Login page flickers" --wait',
    'ticketctl send --project WEB --title "Dates lack a zone" --key form-7f3a',
)
def send(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    *,
    project: Annotated[str, typer.Option(help="The project.")],
    title: Annotated[str, typer.Option(help="Its title, on one line.")],
    key: Annotated[
        str | None,
        typer.Option(
            help="The idempotency key: the same one never gets a second number. "
            "Without it a new one is made, and printed."
        ),
    ] = None,
    description: Annotated[str | None, typer.Option(help="Its description.")] = None,
    priority: Annotated[
        str | None,
        typer.Option(
            help=f"Its priority: {', '.join(PRIORITIES)}.",
            autocompletion=completed_by(PRIORITIES),
        ),
    ] = None,
    reporter: Annotated[str | None, typer.Option(help="The reporter.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="A label; can be repeated.")
    ] = None,
    max_number: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_NUMBER, help="The highest number that it accepts."),
    ] = None,
    wait: Wait = False,
    timeout: Timeout = 60,
    as_json: Json = False,
) -> None:
    """Ask for one ticket.

    It is checked before it is sent, and safe to send again under the same --key.
    """
    from ticketctl.send import command as work

    fields = {
        "project_id": project,
        "idempotency_key": str(uuid4()) if key is None else key,
        "title": title,
        "description": description,
        "priority": priority,
        "reporter": reporter,
        "labels": label,
        "max_number": max_number,
    }
    seconds = timeout if wait else None
    raise typer.Exit(work.send(finder(ctx), fields, seconds, as_json=as_json))


@command(
    TICKETS,
    "ticketctl send-file tickets.jsonl --dry-run",
    "ticketctl send-file tickets.jsonl --project WEB --rate 100 --wait",
    'export-tickets | ticketctl send-file - --key-prefix "nightly-$(date +%F)"',
)
def send_file(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    file: File,
    *,
    project: Annotated[
        str | None, typer.Option(help="The project of lines that name none.")
    ] = None,
    key_prefix: Annotated[
        str | None,
        typer.Option(
            help="Start of the keys that are made for lines without a key; "
            "default: the file's name, so that files of one name share keys; "
            "lines from a pipe need one."
        ),
    ] = None,
    skip_invalid: Annotated[
        bool, typer.Option(help="Send the good lines of a file with bad ones.")
    ] = False,
    unchecked: Annotated[
        bool,
        typer.Option(
            help="Send invalid requests too, as a producer with a bug would; "
            "they end as dead letters, and nothing waits for them."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option(help="Check everything, send nothing.")
    ] = False,
    rate: Annotated[
        int | None, typer.Option(min=1, help="Messages a second, at most.")
    ] = None,
    wait: Wait = False,
    timeout: Timeout = 60,
    as_json: JsonLines = False,
) -> None:
    """Ask for the tickets of a file.

    It has a JSON object a line; `ticketctl convert` makes them of CSV. Everything is
    checked before anything is sent, and a bad line stops the whole file. A dry run asks
    no stack, so it does not check the stack's limits.

    A line without an idempotency_key gets one that is made from the file's name and
    the line's content. So the same file can be sent again, after Ctrl-C or with
    lines added, and nothing is created twice; a line that was changed asks for another
    ticket. Different files of one name, such as an export of each night, need a
    --key-prefix each, or keys in their lines.

    With --json a line is for a message, or with --wait for a number. Status 1 says
    that lines were skipped, or that a number is missing.
    """
    from ticketctl.send import command as work

    seconds = timeout if wait else None
    choices = work.FileChoices(
        project, key_prefix, skip_invalid, unchecked, rate, seconds, as_json
    )
    find = None if dry_run else finder(ctx)
    raise typer.Exit(work.send_file(find, program_of(ctx), file, choices))
