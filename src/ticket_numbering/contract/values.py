"""Values that a request may have, for readers that do not load Pydantic."""

from typing import Final, Literal, get_args

MAX_NUMBER: Final = 10**15
"""Still exact in JSON for every reader, and far beyond any project."""

Priority = Literal["low", "medium", "high", "urgent"]
PRIORITIES: Final[tuple[str, ...]] = get_args(Priority)
