"""Ends the program, also when the reader of its output has enough: `| head`."""

import os
import sys
from collections.abc import Callable, Iterable
from typing import Final, NoReturn

FAILED: Final = 1
"""Exit status: something is red, or the green result was not read."""


def end_after(main: Callable[[], Iterable[str]]) -> NoReturn:
    """Run a program that prints, and end it: with status 0 if it yields nothing."""
    try:
        red = [*main()]
        sys.stdout.flush()
    except BrokenPipeError:  # Python would complain of the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    for line in red:
        print(line, file=sys.stderr)
    sys.exit(FAILED if red else 0)
