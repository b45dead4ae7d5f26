"""Asks a person, and nobody else."""

import sys

import typer

from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import notes


def is_interactive() -> bool:
    """Return whether a person can answer."""
    return sys.stdin.isatty()


def confirm(question: str, *, yes: bool) -> None:
    """Go on only if a person wants it; a no is their wish, and no failure.

    Args:
        question: What is going to happen.
        yes: The answer was given on the command line.

    Raises:
        Exit: They do not want it.
        InputError: Nobody is there to answer.
    """
    if not (yes or agreed(question)):
        notes().print("nothing was done")
        raise typer.Exit(Status.OK)


def agreed(question: str) -> bool:
    """Ask for a yes or a no.

    Raises:
        Exit: The person pressed Ctrl-C, or hung up, instead.
        InputError: Nobody is there to answer.
    """
    if not is_interactive():
        raise InputError("nobody is there to be asked; say --yes to do it")
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        raise typer.Exit(Status.INTERRUPTED) from None
