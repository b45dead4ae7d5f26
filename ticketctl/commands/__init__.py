"""The commands: each reads its options, calls its package of work, and prints."""

from ticketctl.commands import (  # noqa: I001 - the order of the help.
    send,
    watch,
    show,
    export,
    audit,
    sequences,
    importing,
    dead_letters,
    status,
    verify,
    local,
)
from ticketctl.commands.application import app

__all__ = [
    "app",
    "audit",
    "dead_letters",
    "export",
    "importing",
    "local",
    "send",
    "sequences",
    "show",
    "status",
    "verify",
    "watch",
]
