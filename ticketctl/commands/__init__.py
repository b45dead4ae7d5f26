"""The commands: each declares its options, and calls the package that does the work."""

from ticketctl.commands import (  # noqa: F401, I001 - declared in the order of the help.
    send,
    watch,
    show,
    export,
    audit,
    sequences,
    importing,
    restore,
    convert,
    dead_letters,
    status,
    verify,
    local,
)
from ticketctl.commands.application import app

__all__ = ["app"]
