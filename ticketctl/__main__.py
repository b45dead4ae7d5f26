"""The command line: `ticketctl`, or `python -m ticketctl`."""

from importlib import import_module

from ticketctl.app import app

__all__ = ["app"]

# Each registers its commands; the help lists them in this order.
for _name in (
    "send",
    "watch",
    "show",
    "audit",
    "numbers",
    "dead_letters",
    "stats",
    "local",
):
    import_module(f"ticketctl.commands.{_name}")

if __name__ == "__main__":
    app(prog_name="ticketctl")
