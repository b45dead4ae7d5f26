"""The time that is left for waits and calls within an invocation."""

from collections.abc import Callable

TimeLeft = Callable[[], float]
"""Returns the seconds that are left of the invocation."""
