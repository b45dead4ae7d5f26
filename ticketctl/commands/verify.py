"""The command that tests a deployed system."""

from typing import Annotated, Final

import typer

from ticketctl.commands.application import OPERATIONS, command, stack_of
from ticketctl.commands.options import Json, Yes

PATIENCE_SECONDS: Final = 240
"""SQS delivers a failed message again after the visibility timeout, 180 s."""


@command(
    OPERATIONS,
    "ticketctl verify",
    "ticketctl --stack staging verify --count 1000 --yes --json",
)
def verify(
    ctx: typer.Context,
    *,
    count: Annotated[
        int, typer.Option(min=1, max=10_000, help="Number of tickets to send.")
    ] = 100,
    timeout: Annotated[
        int, typer.Option(min=1, help="Seconds without news until it gives up.")
    ] = PATIENCE_SECONDS,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Send a sample through the deployed system, and check the outcome.

    Tickets, repeats, a reused idempotency key, a request whose cap is reached and
    poison go to a new project, VERIFY-..., which the stack must allow. Its numbers must
    be 1 to n, one for each key, all announced as they are stored, with repeats
    announced again. Every refusal must be announced if project and key can be read, and
    be a dead letter with the right reason, except for the reached cap.

    One of the requests is repeated until its announcement arrives, because a new
    subscription may miss the first; then the others are sent.

    The tickets and their key records stay; the project's dead letters are removed.
    Ends with status 0 only if every check succeeds, else with 1.
    """
    from ticketctl.verify import command as work

    stack = stack_of(ctx)
    raise typer.Exit(work.verify(stack, count, timeout, yes=yes, as_json=as_json))
