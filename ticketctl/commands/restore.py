"""The command that puts an export back."""

from typing import Annotated

import typer

from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import console, program
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
    from ticketctl.aws.rate_limiter import RateLimiter
    from ticketctl.aws.stack import place_of
    from ticketctl.aws.table_reader import TableReader
    from ticketctl.cli.arguments import checked_project
    from ticketctl.files.json_lines import open_lines
    from ticketctl.restore.reading import read_export
    from ticketctl.restore.restoring import Restore, plan_restore, shown

    projects = {*map(checked_project, project or ())}
    with open_lines(file) as lines:
        exported = read_export(lines, file, is_part=partial)
    if projects:
        exported = exported.of(projects)
    if not exported.items and not exported.records:
        raise InputError(f"{file}: has nothing to put back")
    stack = stack_of(ctx)
    reader = TableReader.of(stack, limiter=RateLimiter(rate))
    plan = plan_restore(stack, reader, exported, is_part=partial)
    said = [*plan.lines()]
    refused = plan.print_refused(file)
    if not dry_run:
        plan.check_worker()
        if plan.is_empty:
            said.append("nothing to put back")
        else:
            confirm("\n".join([place_of(stack), *said, "Go on?"]), yes=yes)
            counts = Restore(stack, plan).run(file)
            refused += counts.pop("refused", 0)
            said = [f"put back: {shown(counts)}; refused {refused:,}; not announced"]
    said += plan.commands()
    if not dry_run:
        said.append(f"next: {program} audit, before the worker starts")
    console().print("\n".join(said), markup=False)
    if refused:
        raise typer.Exit(Status.FOUND)
