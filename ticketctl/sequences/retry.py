"""Retries while others are in the way."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ticketctl.cli.errors import BusyError

Result = TypeVar("Result")


@dataclass(frozen=True)
class RetryPolicy:
    """How often to try, and how long to wait in between."""

    attempts: int = 40
    """With these waits, half a minute on average."""
    shortest: float = 0.05
    longest: float = 2.0
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[float, float], float] = random.uniform

    def until(self, attempt: Callable[[], Result | None], obstacle: str) -> Result:
        """Return the first result of an attempt that has one.

        Raises:
            BusyError: None had, for that reason.
        """
        for number in range(self.attempts):
            if (result := attempt()) is not None:
                return result
            # Full jitter: writers that met now shall not meet again.
            self.sleep(self.jitter(0.0, min(self.longest, self.shortest * 2**number)))
        raise BusyError(f"{obstacle}, {self.attempts} times in a row; run it again")
