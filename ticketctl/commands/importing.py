"""The command that imports tickets with their numbers."""

from typing import Annotated

import typer

from ticketctl.cli.errors import Status
from ticketctl.cli.output import console, with_progress
from ticketctl.cli.prompts import confirm
from ticketctl.commands.application import SEQUENCES, command, stack_of
from ticketctl.commands.options import Encoding, File, FileFormat, Yes


@command(
    SEQUENCES,
    "ticketctl import tickets.jsonl --dry-run",
    'ticketctl import jira.csv --map "Issue key=key" --map Summary=title',
    "jq -c '.issues[]' export.json | ticketctl import - --project PROJ --yes",
    "ticketctl import tickets.jsonl --verify",
)
def import_(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    file: File,
    *,
    project: Annotated[
        str | None, typer.Option(help="The project of tickets that name none.")
    ] = None,
    file_format: FileFormat = None,
    encoding: Encoding = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="COLUMN=FIELD",
            help="CSV: the field that a column holds; can be repeated. "
            "Columns without it are left out.",
        ),
    ] = None,
    date_format: Annotated[
        str | None,
        typer.Option(
            help="The form of assigned_at, such as '%d/%b/%y %I:%M %p' for Jira's; "
            "UTC if it has no offset. Default: ISO 8601, or JavaScript's form."
        ),
    ] = None,
    fit: Annotated[
        bool,
        typer.Option(
            help="Change what a ticket cannot hold: characters become U+FFFD, "
            "texts and lists are cut. The report names the lines."
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            help="Check the file, and print the plan, the counts of tickets there, and "
            "the tickets that would be refused."
        ),
    ] = False,
    verify: Annotated[
        bool,
        typer.Option(
            help="Print the tickets that are missing, different, of another time or "
            "without a record of their key, and write nothing; status 1 if there are "
            "any."
        ),
    ] = False,
    yes: Yes = False,
) -> None:
    """Take over tickets that have their numbers already.

    A line has the fields of a create-ticket message and `number`; or `key`, such as
    PROJ-42, in place of project and number. `assigned_at` says when it got its number,
    else it is now. Without an `idempotency_key` it gets `import:PROJ-42`. CSV is as for
    `send-file`; `--map` reads the exports of other systems.

    A project whose last number is lower is seeded up to the highest one of the file;
    the worker goes on after it. That cannot be undone, so you are asked first. Nothing
    is written if a line is wrong or beyond a limit of the stack. Run an interrupted
    import again to continue it. Imported tickets are not announced.

    A line of `ticketctl export` goes back as it was, with its hash and its marks, if it
    was lost here and the tables vouch for it; a lost record of a key is written, too.
    A reserved number goes back where nothing is. Else the attributes that only a table
    has are ignored: it takes number and key of an erased ticket, and prints the
    commands that void and erase again. Ends with status 1 if a ticket is refused, or
    there with another `assigned_at`.
    """
    from ticketctl.aws.items import timestamp_now
    from ticketctl.aws.stack import caller_arn, limits_of, place_of
    from ticketctl.cli.arguments import checked_project
    from ticketctl.files.csv_columns import mapped
    from ticketctl.files.request_file import open_lines
    from ticketctl.importing.judging import Judge
    from ticketctl.importing.lines import FIELDS, Defaults, read_tickets
    from ticketctl.importing.planning import REFUSED, judge_all
    from ticketctl.importing.report import (
        counts_of,
        left_out,
        plan,
        print_refused,
        refuse_beyond,
        summary,
        verify_all,
        warnings,
    )
    from ticketctl.importing.reserved import missing_reserved
    from ticketctl.importing.tickets import Import
    from ticketctl.importing.times import check_form

    if project is not None:
        checked_project(project)
    if date_format:
        check_form(date_format)
    defaults = Defaults(timestamp_now(), project, date_format, fit)
    filled = mapped(columns or (), FIELDS)
    with open_lines(file, file_format, filled, encoding) as lines:
        tickets = read_tickets(lines, file, defaults)
    stack = stack_of(ctx)
    judge = Judge(caller_arn(stack), stack.retention_days)
    reading = judge_all(stack, judge, tickets)
    with with_progress(reading, "comparing", len(tickets.to_import)) as judging:
        judged = [*judging]
    reserved = missing_reserved(stack, tickets)
    if verify:
        is_right = verify_all(judged, reserved)
        raise typer.Exit(Status.OK if is_right else Status.FOUND)
    refuse_beyond(limits_of(stack), judged, file)
    planned = [*plan(stack, tickets), *counts_of(judged, reserved)]
    warned = [*warnings(stack, tickets, judged)]
    refused = print_refused(judged, file)
    if not dry_run:
        asked = [place_of(stack), *planned, *warned, "This cannot be undone. Go on?"]
        confirm("\n".join(asked), yes=yes)
        counts = Import(stack, judge).run(tickets, judged, file, reserved)
        refused += counts[REFUSED]
        planned = [summary(counts, len(judged), refused)]
    planned += [*warned, *left_out(tickets, judged)]
    console().print("\n".join(planned), markup=False)
    if refused or any(one.has_other_time for one in judged):
        raise typer.Exit(Status.FOUND)
