"""The policy of attempts and backoff, shared by all loops, and the limiter of rates."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar

from ticketctl.cli.errors import BusyError

Result = TypeVar("Result")

_MOST_DOUBLINGS: Final = 32
"""A wait may poll for days, and a float overflows after 2**1023."""


@dataclass(frozen=True)
class RetryPolicy:
    """The number of attempts, and the backoff between them."""

    attempts: int = 40
    """They take half a minute on average, with these delays."""
    shortest: float = 0.05
    longest: float = 2.0
    sleep: Callable[[float], None] = field(default_factory=lambda: time.sleep)
    jitter: Callable[[float, float], float] = random.uniform

    def tries(self) -> Iterator[int]:
        """Yield the number of each attempt, from 0, after the backoff before it."""
        for number in range(self.attempts):
            if number:
                self.back_off(number - 1)
            yield number

    def until(self, attempt: Callable[[], Result | None], obstacle: str) -> Result:
        """Return the first true result of an attempt.

        Raises:
            BusyError: No attempt had a true result.
        """
        for _ in self.tries():
            if result := attempt():
                return result
        raise BusyError(f"{obstacle}, {self.attempts} times in a row; run it again")

    def back_off(self, before: int) -> None:
        """Sleep after an attempt; the backoff grows with the count before it."""
        longest = min(self.longest, self.shortest * 2 ** min(before, _MOST_DOUBLINGS))
        self.sleep(self.jitter(0.0, longest))  # Two writers must not collide twice.


class Patience:
    """A wait for news: polls at growing intervals, until it gives up."""

    def __init__(
        self, seconds: float, clock: Callable[[], float], policy: RetryPolicy
    ) -> None:
        """Give up after a number of seconds without news."""
        self._seconds, self._clock, self._policy = seconds, clock, policy
        self.renew()

    def renew(self) -> None:
        """Restart the wait, after news."""
        self._last_news, self._looks = self._clock(), 0

    @property
    def is_over(self) -> bool:
        """Whether the time without news is up."""
        return self._clock() >= self._last_news + self._seconds

    def pause(self) -> None:
        """Sleep until the next poll."""
        self._policy.back_off(self._looks)
        self._looks += 1


@dataclass
class RateLimiter:
    """Spaces out batches so that they keep to a rate."""

    rate: float | None = None
    """Units a second; unlimited if None."""
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    _free_at: float = 0.0

    def batch_size(self, most: int, seconds: float = 1.0) -> int:
        """Return the size of a batch: at most the share of some seconds."""
        if self.rate is None:
            return most
        return max(1, min(most, int(self.rate * seconds)))

    def delay(self, count: float) -> float:
        """Return the seconds to wait before a batch of this size."""
        if self.rate is None:
            return 0
        now = self.clock()
        start = max(now, self._free_at)
        self._free_at = start + count / self.rate
        return start - now
