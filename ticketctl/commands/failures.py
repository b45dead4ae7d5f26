"""The command that reads the worker's log."""

from typing import Annotated

import typer

from ticketctl.cli.output import print_json, print_line
from ticketctl.commands.application import OPERATIONS, command, stack_of
from ticketctl.commands.options import Json


@command(
    OPERATIONS,
    "ticketctl failures",
    "ticketctl failures --hours 24",
    "ticketctl failures --json | jq '.[].error'",
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
    from ticketctl.aws.stack import place_of
    from ticketctl.failures.failures import failures_of, lines_of

    stack = stack_of(ctx)
    failures = failures_of(stack, hours)
    if as_json:
        print_json([vars(failure) | {"cure": failure.cure} for failure in failures])
        return
    print_line(str(place_of(stack)))
    for line in lines_of(failures, hours):
        print_line(line)
