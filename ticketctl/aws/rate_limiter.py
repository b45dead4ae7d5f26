"""Limits the rate of messages or read units."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class RateLimiter:
    """Spaces out batches so that they keep to a rate."""

    rate: float | None = None
    """Units a second; unlimited if None."""
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    _free_at: float = 0.0

    def batch_size(self, most: int) -> int:
        """Return the size of a batch: at most the share of a second."""
        return most if self.rate is None else max(1, min(most, int(self.rate)))

    def delay(self, count: float) -> float:
        """Return the seconds to wait before a batch of this size."""
        if self.rate is None:
            return 0
        now = self.clock()
        start = max(now, self._free_at)
        self._free_at = start + count / self.rate
        return start - now
