"""Retries while other writers are in the way."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ticketctl.cli.errors import BusyError

Result = TypeVar("Result")


@dataclass(frozen=True)
class RetryPolicy:
    """The number of attempts, and the backoff between them."""

    attempts: int = 40
    """With these delays, half a minute on average."""
    shortest: float = 0.05
    longest: float = 2.0
    sleep: Callable[[float], None] = field(default_factory=lambda: time.sleep)
    jitter: Callable[[float, float], float] = random.uniform

    def until(self, attempt: Callable[[], Result | None], obstacle: str) -> Result:
        """Return the first result of an attempt that has one; False is none.

        Raises:
            BusyError: No attempt had one.
        """
        for number in range(self.attempts):
            if result := attempt():
                return result
            # Full jitter: two writers shall not meet twice.
            self.sleep(self.jitter(0.0, min(self.longest, self.shortest * 2**number)))
        raise BusyError(f"{obstacle}, {self.attempts} times in a row; run it again")
