"""Asks a person, and nobody else."""

import sys

import typer

from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import notes


def is_somebody_there() -> bool:
    """Return whether a person can answer."""
    return sys.stdin.isatty()


def consent(question: str, *, yes: bool) -> None:
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
    """Ask for a yes; anything else is a no.

    Raises:
        InputError: Nobody is there to answer.
    """
    if not is_somebody_there():
        message = "nobody is there to be asked; say --yes to do it"
        raise InputError(message)
    notes().print(f"{question} [y/N] ", end="", markup=False)
    return sys.stdin.readline().strip().casefold() in {"y", "yes"}
