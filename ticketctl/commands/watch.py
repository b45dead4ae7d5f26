"""The command that watches announcements."""

import math
from contextlib import suppress
from typing import Annotated

import typer

from ticketctl.cli.errors import InputError, Status
from ticketctl.commands.application import TICKETS, Json, app, examples, stack_of
from ticketctl.show.lookup import checked_project
from ticketctl.watch.subscriber_queue import LOOK_COUNT, LOOK_SECONDS, look
from ticketctl.watch.watching import Screen, watch_topic


@app.command(
    "watch",
    rich_help_panel=TICKETS,
    epilog=examples(
        "ticketctl watch",
        "ticketctl watch --project WEB --project API",
        "ticketctl watch --project WEB --count 1 --for 60 --json",
        "ticketctl watch --from my-queue",
    ),
)
def watch(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    *,
    project: Annotated[
        list[str] | None,
        typer.Option(help="Of this project alone; can be repeated."),
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="End after this many lines.")
    ] = None,
    seconds: Annotated[
        int | None, typer.Option("--for", min=1, help="End after this many seconds.")
    ] = None,
    from_queue: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="QUEUE",
            help="Look into a subscriber's queue (name or URL) instead, for "
            f"{LOOK_COUNT} messages or {LOOK_SECONDS} seconds at most. Meanwhile "
            "others do not get them; then they are given back. Each look counts as a "
            "delivery, and so brings them nearer to the queue's own dead-letter queue.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show each number and each refusal as it is announced, until Ctrl-C.

    It subscribes a queue of its own, which it removes when it ends. Earlier
    announcements are not shown, and those of the first seconds can be missing, because
    SNS may not deliver to a new subscription at once. A replay may have been announced
    before. With --count, status 1 says that fewer came.
    """
    if from_queue and seconds:
        raise InputError("--for goes without --from, which ends by itself")
    projects = [checked_project(project_id) for project_id in project or ()]
    screen = Screen(projects, as_json, count or math.inf)
    stack = stack_of(ctx)
    # Ctrl-C is the way to end a watch that waits for no number of messages.
    with suppress(KeyboardInterrupt):
        if from_queue is None:
            watch_topic(stack, screen, seconds or math.inf)
        else:
            with look(stack, from_queue) as messages:
                screen.show(messages)
    if count and screen.left:
        raise typer.Exit(Status.FOUND)
