"""Processes that end, quietly, when the one that started them does."""

import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from multiprocessing.pool import Pool


@contextmanager
def processes(count: int | None = None) -> Iterator[Pool]:
    """Start so many (one a processor if `None`); end them, whatever they are at."""
    # First, because whoever starts it, starts to let Ctrl-C through again.
    resource_tracker.ensure_running()
    with ExitStack() as stack:
        # Started with Ctrl-C held back, they never see it, not even while they start.
        with _interrupts_held():
            pool = multiprocessing.get_context("spawn").Pool(count)
            stack.enter_context(pool)
        yield pool


@contextmanager
def _interrupts_held() -> Iterator[None]:
    held = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
