"""The command that restores an export."""

from typing import Annotated

import typer

from ticketctl.commands.application import SEQUENCES, command, finder
from ticketctl.commands.options import Rate, Yes

ExportFile = Annotated[
    str, typer.Argument(metavar="FILE", help="An export's lines; - is standard input.")
]


@command(
    SEQUENCES,
    "ticketctl restore saved.jsonl --dry-run",
    "ticketctl restore saved.jsonl",
    "ticketctl --stack new restore saved.jsonl --project PROJ",
)
def restore(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    file: ExportFile,
    *,
    project: Annotated[
        list[str] | None,
        typer.Option(help="Restore only this project; can be repeated."),
    ] = None,
    partial: Annotated[
        bool, typer.Option(help="Accept a file that was filtered or cut.")
    ] = False,
    heads: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="First check the file against saved heads."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option(help="Print the plan and the lines that would be refused.")
    ] = False,
    verify: Annotated[
        bool, typer.Option(help="Check that the tables have the content of the file.")
    ] = False,
    rate: Rate = None,
    yes: Yes = False,
) -> None:
    """Write back the lines of an export that the tables lack; change nothing else.

    A project that the tables lack is restored completely, with its hashes and the
    records of its keys, also into another stack. In any other project a line is
    restored unchanged if the tables vouch for it: by the record of its key, or by the
    hash of the next ticket. A line without such proof is restored as of another system,
    without its hash, and is counted.

    A file without its last line is refused, and so is a project of another history.
    The worker must be stopped if a ticket or a key has no record, or if a project's
    last numbers are missing: else a request would get a wrong number. Run an
    interrupted restore again to continue it. Ends with status 1 if a line is refused,
    or if you must run a command that it prints.
    """
    from ticketctl.restore import command as work

    only = "--verify" if verify else "--dry-run" if dry_run else ""
    choices = work.Choices(project or (), partial, heads, only, rate, yes)
    raise typer.Exit(work.restore_file(finder(ctx), file, choices))
