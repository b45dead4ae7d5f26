"""The commands that watch announcements."""

from contextlib import suppress
from enum import StrEnum
from typing import Annotated, Final, Literal

import typer

from ticketctl.cli.app import TICKETS, Json, app, examples, stack_of
from ticketctl.cli.errors import InputError, Status
from ticketctl.system.items import PROJECT_ID
from ticketctl.system.stack import Stack
from ticketctl.watch.heard import ASSIGNED, VOIDED, Filter
from ticketctl.watch.subscriber_messages import (
    PEEK_COUNT,
    PEEK_SECONDS,
    consume,
    peek,
)
from ticketctl.watch.subscriber_queue import find_queue
from ticketctl.watch.watching import Limits, Screen, watch_topic


class Priority(StrEnum):
    """Priorities of tickets."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    URGENT = "urgent"


EventType = Literal["assigned", "voided", "all"]

_TYPES: Final[dict[EventType, tuple[str, ...]]] = {
    "assigned": (ASSIGNED,),
    "voided": (VOIDED,),
    "all": (),
}


@app.command(
    "watch",
    rich_help_panel=TICKETS,
    epilog=examples(
        "ticketctl watch",
        "ticketctl watch --project WEB --project API --priority urgent",
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
    priority: Annotated[
        list[Priority] | None,
        typer.Option(help="Tickets of this priority alone; can be repeated."),
    ] = None,
    event_type: Annotated[
        EventType, typer.Option("--type", help="Which announcements.")
    ] = "all",
    count: Annotated[
        int | None, typer.Option(min=1, help="End after so many lines.")
    ] = None,
    seconds: Annotated[
        int | None, typer.Option("--for", min=1, help="End after so many seconds.")
    ] = None,
    from_queue: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="QUEUE",
            help="Show what lies on a subscriber's queue (URL, name or ARN) instead: "
            f"{PEEK_COUNT} messages, in {PEEK_SECONDS} seconds at most. Meanwhile "
            "nobody else gets them; then they are given back. Each look counts as a "
            "delivery, and so brings them nearer to the queue's own dead-letter queue.",
        ),
    ] = None,
    delete: Annotated[
        bool,
        typer.Option(
            "--delete", help="With --from: delete what is shown, and wait for more."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show each number as it is announced, until Ctrl-C.

    It listens through a queue of its own, which it removes when it ends.
    What was announced before it started is not shown.
    A replay may have been announced before; a repeat was shown before.
    With --count and --for, status 1 says that fewer came.
    """
    stack = stack_of(ctx)
    wanted = _filter(project, priority, event_type)
    limits, screen = Limits(count, seconds), Screen(as_json)
    _refuse(delete and from_queue is None, "--delete needs --from")
    _refuse(
        delete and wanted != Filter(),
        "--delete takes whatever lies there: leave out the choice of messages",
    )
    # Ctrl-C is the way to end a watch that waits for no number of messages.
    enough = count is None
    with suppress(KeyboardInterrupt):
        enough = _watch(stack, from_queue, wanted, screen, limits, delete=delete)
    if not enough:
        raise typer.Exit(Status.FOUND)


def _watch(  # noqa: PLR0913 - what the options say.
    stack: Stack,
    from_queue: str | None,
    wanted: Filter,
    screen: Screen,
    limits: Limits,
    *,
    delete: bool,
) -> bool:
    """Show messages; tell whether as many came as were to come."""
    if from_queue is None:
        return watch_topic(stack, wanted, screen, limits)
    queue = find_queue(stack, from_queue)
    if delete:
        return consume(queue, screen, limits)
    return peek(queue, wanted, screen, limits)


def _filter(
    projects: list[str] | None, priorities: list[Priority] | None, kind: EventType
) -> Filter:
    """Return which announcements are wanted.

    Raises:
        InputError: No announcement could be one of them.
    """
    for each in projects or []:
        _refuse(not PROJECT_ID.fullmatch(each), f"no project can be called {each!r}")
    return Filter(tuple(projects or ()), tuple(priorities or ()), _TYPES[kind])


def _refuse(wrong: object, message: str) -> None:
    if wrong:
        raise InputError(message)
