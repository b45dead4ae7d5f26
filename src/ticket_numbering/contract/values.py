"""Bounds and values of a request's fields, for readers that do not load Pydantic."""

from typing import Final, Literal, get_args

MAX_NUMBER: Final = 10**15
"""Exact in JSON for every reader, and larger than any project needs."""

Priority = Literal["low", "medium", "high", "urgent"]
PRIORITIES: Final[tuple[str, ...]] = get_args(Priority)
