"""The command line without its commands: which stack, and how a command ends."""

import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Annotated, Final, NoReturn

import typer
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from ticketctl.aws.aws_errors import explained
from ticketctl.aws.stack import DEFAULT_STACK, Stack, find_stack
from ticketctl.cli.errors import Status, ToolError

TICKETS: Final = "Tickets"
NUMBERS: Final = "Number sequences"
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
    rich_markup_mode="markdown",  # Paragraphs are filled again, whatever the width.
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
    find: Callable[[], Stack] = ctx.obj
    return find()


def examples(*lines: str) -> str:
    """Return command lines as the end of a help shows them."""
    return "Examples:\n\n" + "\n\n".join(f"$ {line}" for line in lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; a failure that is no bug of ours ends with one line and a status.

    Typer itself ends it for Ctrl-C (130) and for a reader that has enough, `| head`.
    """
    # What is ignored stays so: `nohup` wants it.
    for kind in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(kind) == signal.SIG_DFL:
            signal.signal(kind, signal.default_int_handler)
    import_module("ticketctl.commands")
    try:
        app(arguments, prog_name="ticketctl")
    except ToolError as error:
        _fail(str(error), error.status)
    except (BotoCoreError, ClientError, ResponseParserError) as error:
        _fail(str(explained(error)), Status.CLOUD)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", Status.USAGE)


def _fail(line: str, status: Status) -> NoReturn:
    print(f"error: {line}", file=sys.stderr)  # noqa: T201 - the one line it takes.
    sys.exit(status)
