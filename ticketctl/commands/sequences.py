"""The commands that seed, void, erase and announce again."""

from typing import Annotated

import typer

from ticket_numbering.contract.values import MAX_NUMBER
from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import console, note_if_interrupted, print_note, sanitized
from ticketctl.cli.prompts import confirm
from ticketctl.commands.application import SEQUENCES, command, stack_of
from ticketctl.commands.options import Project, TicketKey, Yes

Reason = Annotated[str, typer.Option(help="Why; recorded and announced.")]


@command(SEQUENCES, 'ticketctl seed PROJ --last 1234 --reason "moved from Jira"')
def seed(
    ctx: typer.Context,
    project: Project,
    *,
    last: Annotated[
        int, typer.Option(help="The last external number.", min=1, max=MAX_NUMBER)
    ],
    reason: Annotated[str, typer.Option(help="Recorded with the numbers.")] = "",
    yes: Yes = False,
) -> None:
    """Continue a project's numbers after those of another system.

    It cannot be undone: the numbers up to the last one are used, and none of them will
    ever be given. If workers gave some of them meanwhile, these are named, and the
    status is 1.
    """
    from ticketctl.aws.aws_errors import AWS_ERRORS
    from ticketctl.aws.stack import caller_arn, place_of
    from ticketctl.aws.tickets import last_number
    from ticketctl.cli.arguments import checked_project
    from ticketctl.sequences.marking import checked_reason
    from ticketctl.sequences.seeding import Seed

    checked_project(project)
    if reason:
        checked_reason(reason)
    stack = stack_of(ctx)
    before = last_number(stack, project)
    question = (
        f"{place_of(stack)}\n{project}: the last number is {before or 'none yet'}; the "
        f"next will be {last + 1}, and none between will ever be given. Go on?"
    )
    if before < last:
        confirm(question, yes=yes)
    target = Seed(stack, project, last, caller_arn(stack), reason)
    in_part = f"{project} may be seeded in part: run it again"
    with note_if_interrupted(in_part, by=(*AWS_ERRORS, KeyboardInterrupt)):
        seeded = target.apply()
    done = "was seeded already" if seeded.was_already else "is seeded"
    console().print(f"{project} {done} up to {last}, and goes on with {seeded.next}")
    if seeded.given_within:
        keys = ", ".join(f"{project}-{number}" for number in seeded.given_within)
        print_note(f"given by workers while it was being seeded: {keys}")
        raise typer.Exit(Status.PROBLEM)


@command(SEQUENCES, 'ticketctl void PROJ-42 --reason "duplicate of PROJ-41"')
def void(
    ctx: typer.Context, ticket_key: TicketKey, *, reason: Reason, yes: Yes = False
) -> None:
    """Mark a ticket as void, and announce it.

    It keeps its number and is never deleted, and it cannot be undone. Run again with
    the same reason, it announces again. Ends with status 1 if there is no such ticket,
    or it is malformed and could not be announced.
    """
    from ticket_numbering.contract.dynamodb_items import VOIDED

    _mark(ctx, ticket_key, VOIDED, reason, yes=yes)


@command(SEQUENCES, 'ticketctl erase PROJ-42 --reason "request of the person named"')
def erase(
    ctx: typer.Context, ticket_key: TicketKey, *, reason: Reason, yes: Yes = False
) -> None:
    """Remove a ticket's text, and announce it: number, key and dates stay.

    The title becomes a fixed word; all other text goes, also in fields that this
    release does not know, and the fingerprint of its key. It cannot be undone. It does
    not reach backups, files, dead letters and subscribers: docs/operations.md. Run
    again with the same reason, it announces again. Ends with status 1 if there is no
    such ticket, or it is malformed and could not be announced.
    """
    from ticket_numbering.contract.dynamodb_items import ERASED

    _mark(ctx, ticket_key, ERASED, reason, yes=yes)


@command(
    SEQUENCES,
    "ticketctl announce --project PROJ --from 1200 --to 1350 --dry-run",
    "ticketctl announce --project PROJ --from 1200 --rate 20",
)
def announce(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    *,
    project: Annotated[str, typer.Option(help="The project.")],
    first: Annotated[
        int, typer.Option("--from", min=1, help="The first number.", show_default=False)
    ],
    last: Annotated[
        int | None,
        typer.Option("--to", min=1, help="The last one; default: the project's last."),
    ] = None,
    imported: Annotated[
        bool, typer.Option(help="Imported tickets too, which were never announced.")
    ] = False,
    rate: Annotated[int, typer.Option(min=1, help="Events a second, at most.")] = 100,
    dry_run: Annotated[
        bool, typer.Option(help="Count the events, and publish nothing.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Announce numbers again, for a subscriber that lost its announcements.

    Every subscriber of the topic gets them, in the order of the numbers, with the same
    event ids and contents and with `replayed` = `true`; subscribers drop repeats by
    these ids. A voided ticket is announced with its number and as voided, an erased one
    as erased. Reserved numbers have no event; imported ones had none.

    Run it again from the number that it names, if it was interrupted. Ends with status
    1 if a number of the range is missing, malformed or changed, and not announced.
    """
    from ticketctl.aws.rate_limiter import RateLimiter
    from ticketctl.aws.stack import place_of
    from ticketctl.aws.tickets import last_number
    from ticketctl.cli.arguments import checked_project
    from ticketctl.sequences.announcing import Announcer
    from ticketctl.sequences.reannouncing import Reannouncement

    checked_project(project)
    stack = stack_of(ctx)
    highest = last_number(stack, project)
    last = highest if last is None else last
    if not first <= last <= highest:
        numbers = f"the numbers up to {highest}" if highest else "no numbers"
        raise InputError(f"no such range: {project} has {numbers}")
    repeat = Reannouncement(stack, project, first, last, stack.number_padding, imported)
    if not dry_run:
        confirm(
            f"{place_of(stack)}\nEvery subscriber of the topic will get the events of "
            f"{project}-{first} to {project}-{last} again. Go on?",
            yes=yes,
        )
    repeat.publish(None if dry_run else Announcer(stack, RateLimiter(rate)))
    if repeat.problems:
        raise typer.Exit(Status.PROBLEM)


def _mark(
    ctx: typer.Context, ticket_key: str, status: str, reason: str, *, yes: bool
) -> None:
    from ticketctl.aws.aws_errors import AWS_ERRORS
    from ticketctl.aws.stack import caller_arn, place_of
    from ticketctl.aws.tickets import parse_ticket_key
    from ticketctl.ledger.item import MARKS
    from ticketctl.sequences.announcing import Announcer
    from ticketctl.sequences.marking import Marking, checked_reason
    from ticketctl.show.lookup import find_ticket

    project_id, number = parse_ticket_key(ticket_key)
    ticket_key = f"{project_id}-{number}"  # Without leading zeros.
    checked_reason(reason)
    stack = stack_of(ctx)
    ticket = find_ticket(stack, project_id, number)
    marking = Marking(stack, status, reason, caller_arn(stack))
    marking.check(ticket)
    title = sanitized(str(ticket.fields.get("title", "")))
    confirm(
        f"{place_of(stack)}\n{ticket_key}: {title}\n"
        f"{MARKS[status].capitalize()} it for ever?",
        yes=yes,
    )
    unknown = f"{ticket_key} may be {status}, and not announced; run it again"
    with note_if_interrupted(unknown, by=(*AWS_ERRORS, KeyboardInterrupt)):
        marked = marking.apply(ticket)
    for problem in marked.remarks:
        print_note(problem)
    unannounced = f"{ticket_key} is {status}, perhaps not announced; run it again"
    with note_if_interrupted(unannounced):
        marking.announce(marked, Announcer(stack))
    was = f"was {status} already; announced again"
    console().print(f"{ticket_key} {was if marked.was_already else f'is {status}'}")
