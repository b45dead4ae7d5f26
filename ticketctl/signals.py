"""Lets other signals end a program as Ctrl-C does: it tidies up first."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Let `kill`, `timeout` and a closed terminal do what Ctrl-C does."""
    kinds = []
    if threading.current_thread() is threading.main_thread():
        # What is ignored stays so: `nohup` wants it.
        all_kinds = (signal.SIGTERM, signal.SIGHUP)
        kinds = [each for each in all_kinds if signal.getsignal(each) == signal.SIG_DFL]
    for kind in kinds:
        signal.signal(kind, signal.default_int_handler)
    try:
        yield
    finally:
        for kind in kinds:
            signal.signal(kind, signal.SIG_DFL)
