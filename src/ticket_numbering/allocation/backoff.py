"""Adaptive backoff per project: the more contended the project, the longer the delay.

The delay outlives the batch, so an execution environment that knows of contention
does not start with the shortest delay again.
"""

from dataclasses import dataclass, field
from typing import Final

from ticket_numbering.contract.errors import (
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)

BASE_DELAY_SECONDS: Final = 0.04
"""As long as several transactions: workers of a first conflict often start together."""

MIN_DELAY_SECONDS: Final = 0.01
"""As long as most of a transaction: the conflicting one is probably over by then."""

MAX_DELAY_SECONDS: Final = 60.0
"""Longer than an invocation can wait: such a delay takes several blocks to decay."""

CONTENTION_MULTIPLIER: Final = 1.25
"""Another worker was faster."""

FAILURE_MULTIPLIER: Final = 2.0
"""The store failed or did not answer, which says nothing about contention."""

THROTTLING_MULTIPLIER: Final = 10.0
MIN_THROTTLING_DELAY_SECONDS: Final = 1.0
"""The partition has no capacity left, and retries take it from other requests."""

SUCCESS_DECAY: Final = 0.8
"""Contention ends by degrees, and so does the delay."""

MAX_PROJECTS: Final = 1_000
"""Bounds the memory; one more project resets every delay to the base."""


@dataclass(slots=True)
class Backoff:
    """The delay of each recently contended project, in seconds."""

    delays: dict[str, float] = field(default_factory=dict)

    def delay(self, project_id: str) -> float:
        """Return the longest delay before the project's next attempt."""
        return self.delays.get(project_id, BASE_DELAY_SECONDS)

    def grow(self, project_id: str, error: TransientError) -> float:
        """Lengthen the project's delay after a failed attempt, and return it."""
        delay = self.delay(project_id)
        match error:
            case StoreThrottledError():
                delay = max(MIN_THROTTLING_DELAY_SECONDS, delay * THROTTLING_MULTIPLIER)
            case StoreUnavailableError():
                delay *= FAILURE_MULTIPLIER
            case _:
                delay *= CONTENTION_MULTIPLIER
        delay = min(MAX_DELAY_SECONDS, delay)
        if project_id not in self.delays and len(self.delays) >= MAX_PROJECTS:
            self.delays.clear()
        self.delays[project_id] = delay
        return delay

    def decay(self, project_id: str) -> None:
        """Shorten the project's delay after a block was committed."""
        # Projects run on several threads, and any of them may clear the delays.
        delay = self.delays.get(project_id)
        if delay is not None:
            self.delays[project_id] = max(MIN_DELAY_SECONDS, delay * SUCCESS_DECAY)
