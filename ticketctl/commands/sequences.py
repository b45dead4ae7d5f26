"""The commands that seed, void, erase and announce."""

from typing import Annotated

import typer

from ticket_numbering.contract.values import MAX_NUMBER
from ticketctl.commands.application import SEQUENCES, command, finder
from ticketctl.commands.options import Project, TicketKey, Yes

Reason = Annotated[str, typer.Option(help="The reason; recorded and announced.")]


@command(SEQUENCES, 'ticketctl seed PROJ --last 1234 --reason "moved from Jira"')
def seed(
    ctx: typer.Context,
    project: Project,
    *,
    last: Annotated[
        int, typer.Option(help="The last external number.", min=1, max=MAX_NUMBER)
    ],
    reason: Annotated[str, typer.Option(help="The reason, which is recorded.")] = "",
    yes: Yes = False,
) -> None:
    """Continue a project's numbers after those of another system.

    This cannot be undone: the numbers up to the last one are reserved, and the worker
    never assigns them. Numbers that workers assigned meanwhile are printed, and the
    status is 1.
    """
    from ticketctl.sequences import command as work

    raise typer.Exit(work.seed(finder(ctx), project, last, reason, yes=yes))


@command(SEQUENCES, 'ticketctl void PROJ-42 --reason "duplicate of PROJ-41"')
def void(
    ctx: typer.Context, ticket_key: TicketKey, *, reason: Reason, yes: Yes = False
) -> None:
    """Mark a ticket as void, and announce it.

    The ticket keeps its number and is never deleted. This cannot be undone. A second
    run with the same reason announces it again. Ends with status 1 if the ticket does
    not exist, or is malformed and could not be announced.
    """
    from ticket_numbering.contract.dynamodb_items import VOIDED
    from ticketctl.sequences import command as work

    work.mark(finder(ctx), ticket_key, VOIDED, reason, yes=yes)


@command(SEQUENCES, 'ticketctl erase PROJ-42 --reason "request of the person named"')
def erase(
    ctx: typer.Context, ticket_key: TicketKey, *, reason: Reason, yes: Yes = False
) -> None:
    """Remove a ticket's text, and announce it: number, key and dates stay.

    The title becomes a fixed word; all other text is removed, also in fields that this
    release does not know, and so is the fingerprint in the record of its key. This
    cannot be undone, and does not reach backups, files, dead letters and subscribers:
    docs/operations.md. A second run with the same reason announces it again. Ends with
    status 1 if the ticket does not exist, or is malformed and could not be announced.
    """
    from ticket_numbering.contract.dynamodb_items import ERASED
    from ticketctl.sequences import command as work

    work.mark(finder(ctx), ticket_key, ERASED, reason, yes=yes)


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
        typer.Option(
            "--to", min=1, help="The last number; default: the project's last."
        ),
    ] = None,
    imported: Annotated[
        bool, typer.Option(help="Also imported tickets, which were never announced.")
    ] = False,
    rate: Annotated[int, typer.Option(min=1, help="Maximum events a second.")] = 100,
    dry_run: Annotated[
        bool, typer.Option(help="Count the events; publish nothing.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Announce numbers again, for a subscriber that lost its announcements.

    Every subscriber of the topic gets them, on a FIFO topic in the order of the
    numbers, with the same event ids and contents and with `replayed` = `true`;
    subscribers drop repeats by these ids. A voided ticket is announced with its number
    and as voided, an erased one as erased. Reserved numbers have no event; imported
    tickets had none.

    After an interruption, run it again from the number that it printed. Ends with
    status 1 if a number of the range is missing, malformed or changed, and not
    announced.
    """
    from ticketctl.sequences import command as work

    status = work.announce(
        finder(ctx),
        project,
        first,
        last,
        rate,
        imported=imported,
        dry_run=dry_run,
        yes=yes,
    )
    raise typer.Exit(status)
