"""The command line itself, without its commands."""

from typing import Final

import typer

TICKETS: Final = "Tickets"
NUMBERS: Final = "Number sequences"
OPERATIONS: Final = "The running system"
LOCAL: Final = "On this machine, without an AWS account"

_STATUSES = (
    "Exit status: 0 done; 1 done, and something is wrong with what was looked at, or "
    "is not there; 2 not done: an option or a file is not as it must be; 3 not done: "
    "AWS cannot be reached or refuses; 130 interrupted, where that is not the way to "
    "end it."
)

app = typer.Typer(
    name="ticketctl",
    rich_markup_mode="markdown",  # Paragraphs are filled anew, whatever the width.
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_STATUSES,
)


@app.callback()
def ticketctl() -> None:
    """Send tickets, hear of their numbers, and look after the system that gives them.

    The stack, its Region and the credentials are found as the AWS CLI finds them;
    `AWS_ENDPOINT_URL` leads to the local system.
    """
