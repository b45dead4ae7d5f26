"""The command that shows the state of the system."""

from typing import Annotated

import typer

from ticketctl.cli.errors import Status
from ticketctl.cli.output import console, print_json
from ticketctl.commands.application import OPERATIONS, Json, app, examples, stack_of
from ticketctl.status.status import lines_of, status_of


@app.command(
    "status",
    rich_help_panel=OPERATIONS,
    epilog=examples(
        "ticketctl status",
        "ticketctl status --check || page-on-call",
        "ticketctl status --json | jq .dead_letters",
    ),
)
def status(
    ctx: typer.Context,
    *,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="End with status 1 if there are dead letters, an alarm is on, could "
            "not sound or notifies nobody, or the worker gets no messages.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show waiting messages, dead letters, the worker's state, and the alarms.

    The counts are SQS's own, approximate. The dashboard has the last hours. An alarm
    of a new stack has no data for some minutes.
    """
    found = status_of(stack_of(ctx))
    if as_json:
        print_json(found)
    else:
        for line in lines_of(found):
            console().print(line, markup=False)
    if check and found["needs_a_person"]:
        raise typer.Exit(Status.FOUND)
