"""The time that is left of an invocation, for waits and calls."""

from collections.abc import Callable

TimeLeft = Callable[[], float]
"""Returns the seconds that are left of the invocation."""
