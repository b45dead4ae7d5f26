"""A deployed system: its stack, queues and tables."""

from typing import Final

HIGHEST: Final = 10**18 - 1
"""The highest number that the tools accept: far above any sequence, in 64 bits."""
