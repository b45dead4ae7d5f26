"""The application without its commands: the stack, and the options they share."""

from functools import partial
from typing import Annotated, Final

import typer

from ticketctl.aws.stack import DEFAULT_STACK, Stack, find_stack

TICKETS: Final = "Tickets"
SEQUENCES: Final = "Number sequences"
OPERATIONS: Final = "The running system"
LOCAL: Final = "On this machine, without an AWS account"

_STATUSES: Final = """
| Exit status | Meaning |
| --- | --- |
| 0 | done |
| 1 | done, but something was wrong or not found |
| 2 | not done: a wrong option or file, or something is missing on this machine |
| 3 | not done: AWS cannot be reached or refuses |
| 130 | interrupted; commands such as `watch` end with Ctrl-C and status 0 |
"""

app = typer.Typer(
    name="ticketctl",
    rich_markup_mode="markdown",  # Paragraphs are filled again at every width.
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_STATUSES,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Project = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]
TicketKey = Annotated[
    str, typer.Argument(metavar="TICKET", help="A ticket key, such as PROJ-42.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]


@app.callback()
def ticketctl(
    ctx: typer.Context,
    *,
    stack: Annotated[
        str, typer.Option(envvar="TICKETCTL_STACK", help="The stack's name.")
    ] = DEFAULT_STACK,
    region: Annotated[
        str | None, typer.Option(help="AWS Region; else as the AWS CLI finds it.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="AWS profile; else as the AWS CLI finds it.")
    ] = None,
) -> None:
    """Send tickets, watch their numbers, and look after the system that gives them.

    The options that name the stack stand before the command.
    Region, profile and credentials are found as the AWS CLI finds them;
    `AWS_ENDPOINT_URL` leads to the local system.
    """
    ctx.obj = partial(find_stack, stack, region, profile)


def stack_of(ctx: typer.Context) -> Stack:
    """Find the stack that the options of the application name."""
    stack: Stack = ctx.obj()
    return stack


def examples(*lines: str) -> str:
    """Return command lines as the end of a help shows them."""
    return "Examples:\n\n" + "\n\n".join(f"$ {line}" for line in lines)
