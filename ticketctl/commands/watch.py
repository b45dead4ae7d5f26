"""The command that watches announcements."""

from typing import Annotated

import typer

from ticketctl.commands.application import TICKETS, command, finder
from ticketctl.commands.options import JsonLines


@command(
    TICKETS,
    "ticketctl watch",
    "ticketctl watch --project WEB --project API",
    "ticketctl watch --project WEB --count 1 --for 60 --json",
)
def watch(
    ctx: typer.Context,
    *,
    project: Annotated[
        list[str] | None, typer.Option(help="Only this project; can be repeated.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="End after this many lines.")
    ] = None,
    seconds: Annotated[
        int | None, typer.Option("--for", min=1, help="End after this many seconds.")
    ] = None,
    as_json: JsonLines = False,
) -> None:
    """Show each number and each refusal as it is announced, until Ctrl-C.

    It subscribes a temporary queue, which it deletes at the end. Earlier announcements
    are not shown, and those of the first seconds can be missing, because SNS may not
    deliver to a new subscription at once. A replay may have been announced before. With
    --count, the status is 1 if fewer announcements came.
    """
    from ticketctl.watch import watching as work

    status = work.watch(finder(ctx), project or (), count, seconds, as_json=as_json)
    raise typer.Exit(status)
