"""The command that converts foreign files."""

from typing import Annotated

import typer

from ticketctl.commands.application import LOCAL, command
from ticketctl.commands.options import Save

Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="COLUMN=FIELD",
        help="The field that a column holds; can be repeated. "
        "Columns without it are left out.",
    ),
]


@command(
    LOCAL,
    'ticketctl convert a.csv --map "Issue key=key" --map Summary=title --save b.jsonl',
    "ticketctl convert a.csv --project WEB --time-zone Europe/Berlin --save b.jsonl",
    "ticketctl convert wishes.csv | ticketctl send-file - --key-prefix wishes",
)
def convert(  # noqa: PLR0913 - one parameter for each option.
    *,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="CSV or JSON lines; - is standard input."),
    ],
    columns: Columns = None,
    project: Annotated[
        str | None, typer.Option(help="The project of rows without a project.")
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(help="The file's encoding, such as cp1252; default: UTF-8."),
    ] = None,
    date_format: Annotated[
        str | None,
        typer.Option(
            help="The form of assigned_at, such as '%d/%b/%y %I:%M %p' for Jira's. "
            "Default: ISO 8601, or JavaScript's form."
        ),
    ] = None,
    time_zone: Annotated[
        str | None,
        typer.Option(help="The zone of dates without one, such as Europe/Berlin."),
    ] = None,
    fit: Annotated[
        bool,
        typer.Option(
            help="Change values to fit a ticket: characters become U+FFFD, "
            "texts and lists are cut. A note names the lines."
        ),
    ] = False,
    save: Save = None,
) -> None:
    """Make lines for `import`, or requests for `send-file`, from a foreign file.

    CSV has any separator, and a header of field names, or of names that --map explains.
    An empty cell is an absent field, labels are separated by ; and attributes are
    columns named attributes.NAME.

    It asks no stack, and reads row by row. A bad row is named; then no file is saved,
    and the status is 2. For an import save the file, because a pipe that breaks looks
    like an end, and could not ask about the next number.
    """
    from ticketctl.convert import command as work

    given = work.Choices(
        columns or (), project, encoding, date_format, time_zone, fit, save
    )
    work.convert(file, given)
