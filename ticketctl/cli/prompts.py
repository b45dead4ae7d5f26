"""Asks a person before something is done."""

import sys
import termios
from contextlib import redirect_stdout, suppress

import typer

from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import print_note


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation; end the command, with status 0, if a person declines.

    Raises:
        Exit: The person declines, presses Ctrl-C or hangs up.
        InputError: Standard input is no terminal.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("there is no terminal to ask on; say --yes to go on")
    with suppress(termios.error):  # Another program may own the terminal now.
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # Typed before the question.
    try:
        with redirect_stdout(sys.stderr):  # The last blank ignores `err`.
            agreed = typer.confirm(question, err=True)
    except typer.Abort:
        raise typer.Exit(Status.INTERRUPTED) from None
    if not agreed:
        print_note("nothing was done")
        raise typer.Exit(Status.OK)
