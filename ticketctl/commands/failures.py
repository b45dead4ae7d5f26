"""The command that reads the worker's log."""

from typing import Annotated

import typer

from ticketctl.commands.application import OPERATIONS, command, stack_of
from ticketctl.commands.options import Json


@command(
    OPERATIONS,
    "ticketctl failures",
    "ticketctl failures --hours 24",
    "ticketctl failures --json | jq '.failures[].error'",
)
def failures(
    ctx: typer.Context,
    *,
    hours: Annotated[
        int, typer.Option(min=1, max=24 * 14, help="Look back so many hours.")
    ] = 3,
    as_json: Json = False,
) -> None:
    """Show the failures in the worker's log by error, each with its cure.

    It counts the lines of messages that came back or are dead letters, crashes,
    timeouts and failed starts; a message that comes back has a line each time. It
    reads the log with CloudWatch Logs Insights, which costs by what it scans. The
    newest lines can be missing for a minute.
    """
    from ticketctl.failures.failures import show_failures

    show_failures(stack_of(ctx), hours, as_json=as_json)
