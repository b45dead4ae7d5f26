"""The command that tests a deployed system."""

import time
from dataclasses import replace
from secrets import token_hex
from typing import Annotated, Final

import typer

from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import counted, note_if_interrupted, print_json, print_note
from ticketctl.cli.prompts import confirm
from ticketctl.commands.application import OPERATIONS, command, stack_of
from ticketctl.commands.options import Json, Yes

PROJECT_START: Final = "VERIFY-"
"""Of the projects that subscribers can leave out."""

PATIENCE_SECONDS: Final = 240
"""A message whose delivery failed comes back after the visibility timeout, 180 s."""


@command(
    OPERATIONS,
    "ticketctl verify",
    "ticketctl --stack staging verify --count 1000 --yes --json",
)
def verify(
    ctx: typer.Context,
    *,
    count: Annotated[
        int, typer.Option(min=1, max=10_000, help="Count of tickets to number.")
    ] = 100,
    timeout: Annotated[
        int, typer.Option(min=1, help="Give up after this many seconds without news.")
    ] = PATIENCE_SECONDS,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Send a sample through the deployed system, and check the outcome.

    Tickets, repeats, a reused idempotency key, a request whose cap is reached and
    poison go to a new project, VERIFY-..., which the stack must allow. Its numbers
    must be 1 to n, one for each key, all announced as they are stored, repeats
    announced again. Every refusal must be announced if project and key can be read, and
    be a dead letter with the right reason unless the cap was it.

    One of the requests is repeated until its announcement arrives, because a new
    subscription may miss the first; then the others are sent.

    The tickets and their key records stay; the project's dead letters are removed.
    Ends with status 0 only if all of it holds, else with 1.
    """
    from ticketctl.aws.stack import limits_of, place_of
    from ticketctl.verify.report import print_run, print_times, run_json
    from ticketctl.verify.run import Run
    from ticketctl.verify.sample import sample_messages
    from ticketctl.watch.watching import temporary_queue

    stack = stack_of(ctx)
    started = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    project = f"{PROJECT_START}{started}-{token_hex(2)}"
    messages = sample_messages(count, [project])
    if refusal := next(messages.refusals(limits_of(stack)), None):
        raise InputError(f"the stack would refuse the sample: {refusal}")
    confirm(
        f"{place_of(stack)}\n{counted(count, 'ticket')} will be numbered, announced to "
        f"every subscriber, and kept for ever, as project {project}. Go on?",
        yes=yes,
    )
    first, *others = messages.first
    strays = (
        f"dead letters of {project} may come to the dead-letter "
        "queue, one of another project and one that is not JSON too; see: "
        "ticketctl dead-letters list"
    )
    with temporary_queue(stack) as queue_url, note_if_interrupted(strays):
        run = Run(stack, queue_url)
        print_note("sending a ticket again and again until it is announced")
        if run.probe(first, timeout):
            tickets = counted(count, "ticket")
            print_note(f"sending {tickets} of {project}, and requests to refuse")
            verdict = run.follow(replace(messages, first=others), timeout)
        else:
            verdict = run.verdict()
    if as_json:
        print_json({"project_id": project, **run_json(run, verdict)})
    else:
        print_times(run)
        print_run(run, verdict, is_sample=True)
        print_note(f"the tickets and key records of {project} stay in the tables")
    raise typer.Exit(Status.OK if verdict.is_clean else Status.PROBLEM)
