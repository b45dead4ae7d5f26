"""The commands that show how the system is doing."""

from functools import partial
from typing import Annotated

import typer
from rich.text import Text

from ticketctl.cli.app import OPERATIONS, Json, app, examples, stack_of
from ticketctl.cli.errors import CloudError, InputError, Status
from ticketctl.cli.output import console, notes, print_json, print_json_line, visible
from ticketctl.status.document import stats_json
from ticketctl.status.screen import screen
from ticketctl.status.statistics import Statistics, statistics
from ticketctl.status.watch import looks, watch_screen


@app.command(
    "stats",
    rich_help_panel=OPERATIONS,
    epilog=examples(
        "ticketctl stats",
        "ticketctl stats --watch --every 30",
        "ticketctl stats --check || page-somebody",
        "ticketctl stats --json | jq .dead_letters.count",
    ),
)
def stats(
    ctx: typer.Context,
    *,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep the screen up to date until Ctrl-C.")
    ] = False,
    every: Annotated[
        int, typer.Option(min=1, help="Seconds between two looks, with --watch.")
    ] = 10,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="End with status 1 if a person should look: dead letters, an alarm "
            "that is on, or a message older than 15 minutes; with 3 if that cannot "
            "be told.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show queue, dead letters, the last hour, the worker and the alarms.

    The queues' lengths come from SQS and are of this moment; all else comes from
    CloudWatch and is some minutes late. What CloudWatch does not know is shown as -.
    With --watch and --json it prints a JSON document a line.
    """
    stack = stack_of(ctx)
    if watch and check:
        message = "--check looks once: leave out --watch"
        raise InputError(message)
    look = partial(statistics, stack)
    if watch:
        _watch(look, every, as_json=as_json)
        return
    found = look()
    if as_json:
        print_json(stats_json(found))
    else:
        console().print(screen(found))
    if check:
        _end(found)


def _watch(look: "partial[Statistics]", every: int, *, as_json: bool) -> None:
    """Look until Ctrl-C, which is how one ends it: no failure."""
    try:
        if as_json:
            for found in looks(look, every, _remark):
                print_json_line(stats_json(found))
        else:
            watch_screen(look, every, console())
    except KeyboardInterrupt:
        return


def _remark(line: str) -> None:
    notes().print(Text(f"no news: {visible(line)}"))


def _end(found: Statistics) -> None:
    """End with the status of a check.

    Raises:
        Exit: A person should look.
        CloudError: Whether one should is not known.
    """
    if found.needs_a_person:
        raise typer.Exit(Status.FOUND)
    if found.unknown:
        message = f"not all could be checked: {found.unknown[0]}"
        raise CloudError(message)
