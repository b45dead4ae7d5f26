"""Lets other signals end a program as Ctrl-C does: it tidies up first, in peace."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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


@contextmanager
def signals_put_off() -> Iterator[None]:
    """Let no second Ctrl-C cut the tidying up short; what came counts afterwards."""
    came: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        all_before = {each: signal.getsignal(each) for each in _ENDING}
        untouched = (signal.SIG_IGN, None)  # None: not set by Python.
        before = {k: each for k, each in all_before.items() if each not in untouched}
    try:
        for kind in before:
            signal.signal(kind, lambda number, _: came.append(number))
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
    # Else work that ends well would go on with what somebody wanted to stop.
    for number in came[:1]:
        signal.raise_signal(number)


def running_thread() -> ThreadPoolExecutor:
    """Return a pool whose one thread runs, so that `shutdown` waits for all its work.

    A pool starts its thread at the first `submit`, and Ctrl-C just then makes it forget
    the thread, which works all the same.
    """
    pool = ThreadPoolExecutor(1)
    pool.submit(int).result()
    return pool
