"""Lets a program that Ctrl-C ends tidy up in peace."""

from concurrent.futures import ThreadPoolExecutor


def running_thread() -> ThreadPoolExecutor:
    """Return a pool whose one thread runs, so that `shutdown` waits for all its work.

    A pool starts its thread at the first `submit`, and Ctrl-C just then makes it forget
    the thread, which works all the same.
    """
    pool = ThreadPoolExecutor(1)
    pool.submit(int).result()
    return pool
