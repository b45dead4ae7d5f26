"""Lets a program that Ctrl-C ends tidy up in peace."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
