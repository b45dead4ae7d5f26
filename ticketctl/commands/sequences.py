"""The commands that seed, void and erase."""

from typing import Annotated

import typer
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from ticket_numbering.contract.field_types import MAX_NUMBER
from ticketctl.aws.stack import caller_arn
from ticketctl.aws.tickets import last_number
from ticketctl.cli.errors import Status
from ticketctl.cli.output import console, remark, visible
from ticketctl.cli.prompts import confirm
from ticketctl.commands.application import (
    SEQUENCES,
    Project,
    TicketKey,
    Yes,
    app,
    examples,
    stack_of,
)
from ticketctl.sequences.announcing import Announcer
from ticketctl.sequences.marking import (
    ERASE,
    VOID,
    Mark,
    Marking,
    announce,
    checked_reason,
)
from ticketctl.sequences.seeding import Seed
from ticketctl.show.lookup import checked_project, find_ticket, parse_ticket_key

Reason = Annotated[str, typer.Option(help="Why; recorded and announced.")]


@app.command(
    "seed",
    rich_help_panel=SEQUENCES,
    epilog=examples('ticketctl seed PROJ --last 1234 --reason "moved from Jira"'),
)
def seed(
    ctx: typer.Context,
    project: Project,
    *,
    last: Annotated[
        int,
        typer.Option(help="The last number used elsewhere.", min=1, max=MAX_NUMBER),
    ],
    reason: Annotated[str, typer.Option(help="Recorded with the numbers.")] = "",
    yes: Yes = False,
) -> None:
    """Continue a project's numbers after those of another system.

    It cannot be undone: the numbers up to the last one are used, and none of them will
    ever be given. If workers gave some of them meanwhile, these are named, and the
    status is 1.
    """
    checked_project(project)
    if reason:
        checked_reason(reason)
    stack = stack_of(ctx)
    before = last_number(stack, project)
    question = (
        f"{project}: the last number is {before or 'none yet'}; the next will be "
        f"{last + 1}, and none between will ever be given. Go on?"
    )
    if before < last:
        confirm(question, yes=yes)
    target = Seed(stack, project, last, caller_arn(stack), reason)
    try:
        seeded = target.apply()
    except (BotoCoreError, ClientError, ResponseParserError, KeyboardInterrupt):
        remark(f"{project} may be seeded in part: run it again")
        raise
    done = "was seeded already" if seeded.was_already else "is seeded"
    console().print(f"{project} {done} up to {last}, and goes on with {seeded.next}")
    if seeded.given_within:
        keys = ", ".join(f"{project}-{number}" for number in seeded.given_within)
        remark(f"given by workers while it was being seeded: {keys}")
        raise typer.Exit(Status.FOUND)


@app.command(
    "void",
    rich_help_panel=SEQUENCES,
    epilog=examples('ticketctl void PROJ-42 --reason "duplicate of PROJ-41"'),
)
def void(
    ctx: typer.Context,
    ticket_key: TicketKey,
    *,
    reason: Reason,
    yes: Yes = False,
) -> None:
    """Mark a ticket as void, and announce it.

    It keeps its number and is never deleted, and it cannot be undone. Run again with
    the same reason, it announces again. Ends with status 1 if there is no such ticket,
    or it is malformed and could not be announced.
    """
    _mark(ctx, ticket_key, VOID, reason, yes=yes)


@app.command(
    "erase",
    rich_help_panel=SEQUENCES,
    epilog=examples('ticketctl erase PROJ-42 --reason "request of the person named"'),
)
def erase(
    ctx: typer.Context,
    ticket_key: TicketKey,
    *,
    reason: Reason,
    yes: Yes = False,
) -> None:
    """Remove a ticket's text, and announce it: number, key and dates stay.

    The title becomes a fixed word; all other text goes, also in fields that this
    release does not know, and the fingerprint of its key. It cannot be undone. It does
    not reach backups, files, dead letters and subscribers: docs/operations.md. Run
    again with the same reason, it announces again. Ends with status 1 if there is no
    such ticket, or it is malformed and could not be announced.
    """
    _mark(ctx, ticket_key, ERASE, reason, yes=yes)


def _mark(
    ctx: typer.Context, ticket_key: str, mark: Mark, reason: str, *, yes: bool
) -> None:
    project_id, number = parse_ticket_key(ticket_key)
    checked_reason(reason)
    stack = stack_of(ctx)
    found = find_ticket(stack, project_id, number)
    marking = Marking(stack, mark, reason, caller_arn(stack))
    marking.check(found)
    title = visible(str(found.fields.get("title", "")))
    confirm(f"{ticket_key}: {title}\n{mark.verb.capitalize()} it for ever?", yes=yes)
    marked = marking.apply(found)
    for problem in marked.remarks:
        remark(problem)
    try:
        announce(marked, mark, Announcer(stack))
    except BaseException:  # Ctrl-C as well.
        remark(f"{ticket_key} is {mark.status}, perhaps not announced; run it again")
        raise
    was = f"was {mark.status} already; announced again"
    console().print(
        f"{ticket_key} {was if marked.was_already else f'is {mark.status}'}"
    )
