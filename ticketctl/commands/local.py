"""The commands that need no AWS account: run, up, sample."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ticketctl.cli.errors import Status, ToolError
from ticketctl.commands.application import LOCAL, command

if TYPE_CHECKING:
    from ticketctl.local.session import Session

CHECKOUT: Final = Path(__file__).resolve().parents[2]

Fifo = Annotated[
    bool, typer.Option(help="FIFO queues and a FIFO topic: numbers in order.")
]


@command(LOCAL, "ticketctl run", "ticketctl run my.jsonl", "ticketctl run --fifo")
def run(
    ctx: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="Your own messages, as JSON lines.")
    ] = None,
    *,
    fifo: Fifo = False,
) -> None:
    """Start the whole system on this machine, send messages, and show their numbers.

    Ends with status 0 only if every message is accounted for and no sequence has a
    gap or a duplicate.
    """
    clean = _session(ctx).run(file, fifo=fifo)
    raise typer.Exit(Status.OK if clean else Status.PROBLEM)


@command(LOCAL, "ticketctl up", "ticketctl up --fifo")
def up(ctx: typer.Context, *, fifo: Fifo = False) -> None:
    """Start the whole system until Ctrl-C, also for `sam local invoke`.

    Its tickets are in memory, and are lost when the system ends.
    """
    _session(ctx).up(fifo=fifo)


@command(LOCAL, "ticketctl sample 1000 --poison 3 > tickets.jsonl")
def sample(
    number: Annotated[int, typer.Argument(min=1, help="Number of messages.")] = 1000,
    *,
    poison: Annotated[int, typer.Option(min=0, help="Number of invalid messages.")] = 0,
) -> None:
    """Print sample create-ticket messages, one JSON object a line."""
    from ticketctl.verify.sample import many_messages

    for body in many_messages(number, poison):
        typer.echo(body)


def _session(ctx: typer.Context) -> "Session":
    """Load the local system, which only a checkout has, beside its template."""
    if not (CHECKOUT / "template.yaml").is_file():
        raise ToolError(
            "this command needs a checkout of ticket numbering; there: `make setup`"
        )
    from ticketctl.local.session import Session  # The wheel is without it.

    return ctx.ensure_object(Session)
