"""The command that imports tickets with their numbers."""

from typing import Annotated

import typer

from ticketctl.cli.errors import Status
from ticketctl.cli.output import console, with_progress
from ticketctl.cli.prompts import confirm
from ticketctl.commands.application import SEQUENCES, command, stack_of
from ticketctl.commands.options import File, Rate, Yes


@command(
    SEQUENCES,
    "ticketctl import tickets.jsonl --dry-run",
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
    rate: Rate = None,
    yes: Yes = False,
) -> None:
    """Take over tickets of another system, which have their numbers already.

    A line has the fields of a create-ticket message and `number`; or `key`, such as
    PROJ-42, in place of project and number. `assigned_at` says when it got its number,
    else it is now. Without an `idempotency_key` it gets `import:PROJ-42`.
    `ticketctl convert` makes such lines from the exports of other systems; what
    `ticketctl export` wrote is for `ticketctl restore`.

    A project whose last number is lower is seeded up to the highest one of the file;
    the worker goes on after it. That cannot be undone, so you are asked first. Nothing
    is written if a line is wrong or beyond a limit of the stack. Run an interrupted
    import again to continue it. Imported tickets are not announced. Ends with status 1
    if a ticket is refused, or there with another `assigned_at`.
    """
    from ticketctl.aws.items import timestamp_now
    from ticketctl.aws.rate_limiter import RateLimiter
    from ticketctl.aws.stack import caller_arn, limits_of, place_of
    from ticketctl.cli.arguments import checked_project
    from ticketctl.files.json_lines import open_lines
    from ticketctl.importing.judging import Judge
    from ticketctl.importing.lines import Defaults, read_tickets
    from ticketctl.importing.planning import judge_all
    from ticketctl.importing.report import (
        counts_of,
        left_out,
        plan,
        print_refused,
        reject_beyond,
        summary,
        verify_all,
        warnings,
    )
    from ticketctl.importing.writing import REFUSED, Import

    if project is not None:
        checked_project(project)
    defaults = Defaults(timestamp_now(), project)
    with open_lines(file, "import") as lines:
        tickets = read_tickets(lines, file, defaults)
    stack = stack_of(ctx)
    judge = Judge(caller_arn(stack), stack.retention_days)
    limiter = RateLimiter(rate)
    reading = judge_all(stack, judge, tickets, limiter)
    with with_progress(reading, "comparing", len(tickets)) as judging:
        judged = [*judging]
    if verify:
        raise typer.Exit(Status.OK if verify_all(judged) else Status.PROBLEM)
    reject_beyond(limits_of(stack), judged, file)
    planned = [*plan(stack, tickets), *counts_of(judged)]
    warned = [*warnings(stack, tickets)]
    refused = print_refused(judged, file)
    if not dry_run:
        asked = [place_of(stack), *planned, *warned, "This cannot be undone. Go on?"]
        confirm("\n".join(asked), yes=yes)
        counts = Import(stack, judge, limiter=limiter).run(judged, file)
        refused += counts[REFUSED]
        planned = [summary(counts, len(judged), refused)]
    planned += [*warned, *left_out(judged)]
    console().print("\n".join(planned), markup=False)
    if refused or any(planned.has_other_time for planned in judged):
        raise typer.Exit(Status.PROBLEM)
