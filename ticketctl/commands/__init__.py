"""The commands: each reads its options, calls the tool that does it, and prints."""

from importlib import import_module

from ticketctl.cli.app import app

__all__ = ["app"]

# Each registers its commands; the help lists them in this order.
for _name in (
    "send",
    "watch",
    "show",
    "audit",
    "sequences",
    "dead_letters",
    "status",
    "verify",
    "local",
):
    import_module(f"ticketctl.commands.{_name}")
