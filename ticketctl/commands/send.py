"""The commands that send tickets."""

from typing import Annotated
from uuid import uuid4

import typer

from ticket_numbering.contract.values import MAX_NUMBER, PRIORITIES
from ticketctl.commands.application import TICKETS, command, finder, program_of
from ticketctl.commands.options import File, Json, JsonLines, completed_by

Wait = Annotated[
    bool,
    typer.Option(
        help="Wait for each number and print it; status 1 if one is missing or refused."
    ),
]
Timeout = Annotated[
    int,
    typer.Option(
        min=1, help="With --wait: seconds without an answer until it gives up."
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
            help="The idempotency key, which never gets a second number; "
            "default: a new key, which is printed."
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
        typer.Option(min=1, max=MAX_NUMBER, help="The highest acceptable number."),
    ] = None,
    wait: Wait = False,
    timeout: Timeout = 60,
    as_json: Json = False,
) -> None:
    """Request one ticket.

    The request is checked before it is sent, and is safe to repeat with the same --key.
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
        str | None, typer.Option(help="The project of lines without a project.")
    ] = None,
    key_prefix: Annotated[
        str | None,
        typer.Option(
            help="The prefix of keys for lines without a key; "
            "default: the file's name, so that files of one name share keys; "
            "required for standard input."
        ),
    ] = None,
    skip_invalid: Annotated[
        bool, typer.Option(help="Send the valid lines of a file with invalid ones.")
    ] = False,
    unchecked: Annotated[
        bool,
        typer.Option(
            help="Also send invalid requests, like a producer with a bug; "
            "they become dead letters, and --wait ignores them."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option(help="Check everything; send nothing.")
    ] = False,
    rate: Annotated[
        int | None, typer.Option(min=1, help="Maximum messages a second.")
    ] = None,
    wait: Wait = False,
    timeout: Timeout = 60,
    as_json: JsonLines = False,
) -> None:
    """Request the tickets of a file.

    The file has one JSON object a line; `ticketctl convert` makes it from CSV. All
    lines are checked before the first is sent, and an invalid line stops the whole
    file. A dry run reads no stack, so it does not check the stack's limits.

    A line without an idempotency_key gets one from the file's name and the line's
    content. So the same file can be sent again, after Ctrl-C or with lines added, and
    nothing is created twice; a changed line requests another ticket. Different files of
    one name, such as a nightly export, need a --key-prefix each, or keys in their
    lines.

    With --json there is a line for each message, or with --wait for each number. Ends
    with status 1 if lines were skipped, or a number is missing.
    """
    from ticketctl.send import command as work

    seconds = timeout if wait else None
    choices = work.FileChoices(
        project, key_prefix, skip_invalid, unchecked, rate, seconds, as_json
    )
    find = None if dry_run else finder(ctx)
    raise typer.Exit(work.send_file(find, program_of(ctx), file, choices))
