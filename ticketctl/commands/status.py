"""The commands that show the running system, stop it, and lead a shell to it."""

import os
from typing import Annotated

import typer

from ticketctl.commands.application import OPERATIONS, command, stack_of
from ticketctl.commands.options import Json


@command(
    OPERATIONS,
    "ticketctl status",
    "ticketctl status --check || page-on-call",
    "ticketctl status --json | jq .dead_letters",
)
def status(
    ctx: typer.Context,
    *,
    check: Annotated[
        bool,
        typer.Option(
            help="End with status 1 if there are dead letters, an alarm is on, could "
            "not sound or has no receiver, the worker gets no messages, a table, the "
            "topic or a setting that a recovery rests on is gone, or any of this is "
            "unknown."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show waiting messages, dead letters, the worker's state, and the alarms.

    The counts are SQS's own and approximate; the age of the oldest message is
    CloudWatch's, minutes late. The dashboard has the last hours. An alarm of a new
    stack has no data for some minutes. If a right is missing or a service does not
    answer, the command shows the rest, names the service, and ends with status 3.
    """
    from ticketctl.status.status import show_status

    raise typer.Exit(show_status(stack_of(ctx), check=check, as_json=as_json))


@command(
    OPERATIONS,
    "ticketctl env",
    'eval "${TICKETCTL_UNSET-}"; '
    'variables=$(ticketctl --stack staging env) && eval "$variables"',
)
def env(ctx: typer.Context) -> None:
    """Print shell variables with the stack's name, Region, profile and outputs.

    `TICKETS_TABLE_NAME` has the output TicketsTableName. The second example first
    unsets the variables of the previous stack, so after a failure no command can reach
    the wrong stack. The command prints all variables or none.
    """
    from ticketctl.status.variables import shell_lines

    profile = ctx.find_root().params.get("profile")
    typer.echo("\n".join(shell_lines(stack_of(ctx), profile, os.environ)))


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
        int, typer.Option(min=1, max=24 * 14, help="The hours of the log to read.")
    ] = 3,
    as_json: Json = False,
) -> None:
    """Show the failures in the worker's log by error, each with its cure.

    It counts the lines of retried messages, dead letters, crashes, timeouts and failed
    starts; a message has a line for each failed delivery. The log is read with
    CloudWatch Logs Insights, which charges by the amount of data scanned. The newest
    lines can be missing for a minute.
    """
    from ticketctl.failures.failures import show_failures

    show_failures(stack_of(ctx), hours, as_json=as_json)


@command(OPERATIONS, "ticketctl stop")
def stop(ctx: typer.Context) -> None:
    """Stop the worker, and wait until no invocation runs: messages stay on the queue.

    It disables each event source mapping of the function, also those of other queues,
    and waits until nothing is in flight and the function's timeout has passed since the
    last invocation. Ctrl-C ends only the wait; run the command again to continue.
    """
    from ticketctl.switching.switching import Switch

    Switch(stack_of(ctx)).stop()


@command(OPERATIONS, "ticketctl start")
def start(ctx: typer.Context) -> None:
    """Start the worker: enable the mappings that `ticketctl stop` disabled.

    It prints any other disabled mapping with the command that enables it, and ends with
    status 1 if there are only such mappings.
    """
    from ticketctl.switching.switching import Switch

    raise typer.Exit(Switch(stack_of(ctx)).start())
