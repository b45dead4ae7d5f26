"""The command that puts an export back."""

from typing import Annotated

import typer

from ticketctl.commands.application import SEQUENCES, command, finder
from ticketctl.commands.options import Rate, Yes

ExportFile = Annotated[
    str,
    typer.Argument(metavar="FILE", help="An export's lines; - is standard input."),
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
        typer.Option(help="Put this project alone back; can be repeated."),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option(help="Take a file that a person filtered, or that was cut."),
    ] = False,
    heads: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Check the file against heads that were kept, first."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option(help="Print the plan, and what would be refused.")
    ] = False,
    verify: Annotated[
        bool, typer.Option(help="Check that the tables hold what the file has.")
    ] = False,
    rate: Rate = None,
    yes: Yes = False,
) -> None:
    """Put back what an export has and the tables lack; change nothing that is there.

    A project of which the tables have nothing comes back whole, with its hashes, and
    with the records of its keys, also into another stack. In any other project a line
    goes back as it was if the tables vouch for it: the record of its key, or the next
    ticket, whose hash covers it. What nothing vouches for comes back as of another
    system, without its hash, and is counted.

    A file that lacks its last line is refused, and so is a project of another history.
    The worker must be stopped where a ticket or a key has no record, or a project's
    last numbers are missing: a request would get a wrong number meanwhile. Run an
    interrupted restore again to continue it. Ends with status 1 if something is
    refused, or is to be done by a command that it prints.
    """
    from ticketctl.restore import command as work

    only = "--verify" if verify else "--dry-run" if dry_run else ""
    choices = work.Choices(project or (), partial, heads, only, rate, yes)
    raise typer.Exit(work.restore_file(finder(ctx), file, choices))
