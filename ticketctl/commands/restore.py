"""The command that puts an export back."""

from typing import Annotated

import typer

from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import console, program, spinner
from ticketctl.cli.prompts import confirm
from ticketctl.commands.application import SEQUENCES, command, stack_of
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
    The worker must be stopped where a ticket or a key has no record: a repeat of its
    request would get a second number meanwhile. Run an interrupted restore again to
    continue it. Ends with status 1 if something is refused, and names the next command.
    """
    from ticketctl.aws.items import timestamp_now
    from ticketctl.aws.rate_limiter import RateLimiter
    from ticketctl.aws.stack import caller_arn, place_of
    from ticketctl.aws.table_reader import TableReader
    from ticketctl.cli.arguments import checked_project
    from ticketctl.restore.database import Database
    from ticketctl.restore.deeds import Terms
    from ticketctl.restore.reading import ExportReader, read_tables, saved_file
    from ticketctl.restore.restoring import Restore, shown

    projects = frozenset(map(checked_project, project or ()))
    with Database() as database, saved_file(file) as (saved, copy):
        ExportReader(database, saved, projects).read(copy, is_part=partial)
        if not database.projects():
            raise InputError(f"{file}: has nothing to put back")
        stack = stack_of(ctx)
        with spinner("reading") as show:
            reader = TableReader.of(stack, limiter=RateLimiter(rate))
            read_tables(reader, database, lambda what: show(f"reading: {what}"))
        terms = Terms(caller_arn(stack), stack.retention_days, timestamp_now())
        restore = Restore(stack, database, saved, terms, is_part=partial)
        restore.plan()
        said = [*restore.lines()]
        if not (dry_run or verify):
            restore.check_worker()
            if restore.is_empty:
                said.append("nothing to put back")
            else:
                confirm("\n".join([place_of(stack), *said, "Go on?"]), yes=yes)
                done = shown(restore.run())
                said = [f"put back: {done}; refused {restore.refused:,}; not announced"]
        said += restore.commands()
        is_wrong = restore.refused > 0 or (verify and not restore.is_empty)
    if not (dry_run or verify):
        said.append(f"next: {program} audit, before the worker starts")
    console().print("\n".join(said), markup=False)
    if is_wrong:
        raise typer.Exit(Status.FOUND)
