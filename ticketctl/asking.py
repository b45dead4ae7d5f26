"""Asks a person, and nobody else."""

import sys

from ticketctl.errors import InputError
from ticketctl.output import notes


def is_somebody_there() -> bool:
    """Return whether a person can answer."""
    return sys.stdin.isatty()


def agreed(question: str, *, yes: bool) -> bool:
    """Ask for a yes; anything else is a no.

    Args:
        question: What is going to happen.
        yes: The answer was given on the command line.

    Raises:
        InputError: Nobody is there to answer.
    """
    if yes:
        return True
    if not is_somebody_there():
        message = "nobody is there to be asked; say --yes to do it"
        raise InputError(message)
    notes().print(f"{question} [y/N] ", end="", markup=False)
    if sys.stdin.readline().strip().casefold() in {"y", "yes"}:
        return True
    notes().print("nothing is done")
    return False
