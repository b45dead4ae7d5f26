"""The command that converts foreign files."""

from typing import Annotated

import typer

from ticketctl.cli.output import counted, note_if_interrupted, print_note
from ticketctl.commands.application import LOCAL, command
from ticketctl.commands.options import Save


@command(
    LOCAL,
    'ticketctl convert a.csv --map "Issue key=key" --map Summary=title --save b.jsonl',
    "ticketctl convert a.csv --project WEB --time-zone Europe/Berlin --save b.jsonl",
    "ticketctl convert wishes.csv --key-prefix wishes | ticketctl send-file -",
)
def convert(  # noqa: PLR0913 - one parameter for each option.
    *,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="CSV or JSON lines; - is standard input."),
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="COLUMN=FIELD",
            help="The field that a column holds; can be repeated. "
            "Columns without it are left out.",
        ),
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="The project of rows that name none.")
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(help="Of the file, such as cp1252 or utf-16; default: UTF-8."),
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
        typer.Option(help="Of dates that name no zone, such as Europe/Berlin or UTC."),
    ] = None,
    fit: Annotated[
        bool,
        typer.Option(
            help="Change what a ticket cannot hold: characters become U+FFFD, "
            "texts and lists are cut. A remark names the lines."
        ),
    ] = False,
    key_prefix: Annotated[
        str | None,
        typer.Option(help="Make requests: start of the keys of rows without a key."),
    ] = None,
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
    from ticketctl.cli.arguments import checked_project
    from ticketctl.convert.columns import mapped
    from ticketctl.convert.convert import Conversion, Rules, check_end, open_rows
    from ticketctl.convert.times import check_form, zone_of
    from ticketctl.files.derived_keys import keys_of
    from ticketctl.files.lines import Problems
    from ticketctl.files.whole_file import so_far, writing

    if project is not None:
        checked_project(project)
    if date_format:
        check_form(date_format)
    zone = zone_of(time_zone) if time_zone else None
    keys = keys_of(file, key_prefix) if key_prefix is not None else None
    problems, count = Problems(file), 0
    conversion = Conversion(Rules(project, date_format, zone, fit, keys), problems)
    with (
        writing(save) as write,
        note_if_interrupted(
            lambda: so_far(save, counted(count, "line")) if count else ""
        ),
        open_rows(file, mapped(columns or ()), encoding, conversion.changes) as rows,
    ):
        for line in conversion.lines(rows):
            write(line)
            count += 1
        check_end(count, problems)
    for change in conversion.changes.remarks():
        print_note(change)
    print_note(f"converted {counted(count, 'line')}{f' to {save}' if save else ''}")
