"""A stage whose commands are called as functions; the tests of the tables use it."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import typer

from tests.support.ctl_process import Ended, command_of
from tests.support.stage import Stage as _Stage
from tests.support.stage import dead_letter, dead_letters, line
from ticketctl.cli.errors import Status

__all__ = ["Harness", "dead_letter", "dead_letters", "line"]


class Harness(_Stage):
    """A stage with the output that pytest captures."""

    def __init__(self, folder: Path, printed: Any) -> None:
        super().__init__(folder)
        self.printed = printed

    retention_days = 0

    def call(  # type: ignore[override]
        self, command: Callable[..., None], *arguments: str, **options: Any
    ) -> Ended:
        """Call a command, with `--yes` if it knows it."""
        agreed = {"yes": True} if "yes" in signature(command).parameters else {}
        status = exit_status(command, self, *arguments, **agreed | options)
        return Ended(status, *self.printed.readouterr())


def command_context(stack: Any) -> typer.Context:
    """Return the context of a command whose options name this stack."""
    return typer.Context(command_of(()), obj=lambda: stack)


def exit_status(
    command: Callable[..., None], stack: Any, *arguments: str, **options: Any
) -> Status:
    """Call a command on a stack; return the status with which it ends."""
    try:
        command(command_context(stack), *arguments, **options)
    except typer.Exit as ended:
        return Status(ended.exit_code)
    return Status.OK
