"""The command line: `ticketctl`, or `python -m ticketctl`."""

import signal
from importlib import import_module

from ticketctl.cli.app import app

__all__ = ["app"]

# Until all is loaded Ctrl-C just ends it; what is ignored stays so, as `&` wants it.
_is_interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if __name__ == "__main__" and _is_interruptible:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

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
    if _is_interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    app(prog_name="ticketctl")
