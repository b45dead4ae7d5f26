"""Limits the rate of messages, or of read units, a second."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class RateLimiter:
    """Lets so many go a second, one batch after the other."""

    rate: float | None = None
    """Without one, it never waits."""
    clock: Callable[[], float] = time.monotonic
    _free_at: float = 0.0

    def batch_size(self, most: int) -> int:
        """Return how many messages to send at once: a second's share at most."""
        return most if self.rate is None else max(1, min(most, int(self.rate)))

    def delay(self, count: float) -> float:
        """Return how many seconds to wait until so many more may go."""
        if self.rate is None:
            return 0
        now = self.clock()
        start = max(now, self._free_at)
        self._free_at = start + count / self.rate
        return start - now
