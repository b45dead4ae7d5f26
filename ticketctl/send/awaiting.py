"""Waits for the numbers of requests that were sent."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from ticketctl.send.preparing import Request
from ticketctl.watch.heard import ASSIGNED, Heard

_LOOK_EVERY_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 5


class Poller(Protocol):
    """Who hears announcements."""

    def poll(self, wait_seconds: int) -> list[Heard]:
        """Wait for announcements, and take them."""
        ...


@dataclass
class Awaiting:
    """The requests of which no number is known yet."""

    listener: Poller
    on_number: Callable[[Heard], None]
    """Called for the first announcement of each request."""
    clock: Callable[[], float] = time.monotonic
    missing: set[tuple[str, str]] = field(default_factory=set)
    _last_look: float = 0.0

    def expect(self, requests: Iterable[Request]) -> None:
        """Wait for the numbers of these."""
        self.missing.update(each.identity for each in requests)

    def give_up(self, request: Request) -> None:
        """Wait no more for a request that was not sent."""
        self.missing.discard(request.identity)

    def glance(self) -> None:
        """Take what is there, at most every second: between two batches, say."""
        if self.clock() >= self._last_look + _LOOK_EVERY_SECONDS:
            # Should it fail, what was sent is still counted, without another try each.
            self._last_look = math.inf
            self._look(0)

    def until_all(self, patience: float) -> bool:
        """Wait for all; tell whether they came.

        Args:
            patience: How many seconds without news are too many.
        """
        last_news = self.clock()
        while self.missing:
            left = last_news + patience - self.clock()
            if left <= 0:
                return False
            if self._look(min(_POLL_SECONDS, max(1, int(left)))):
                last_news = self.clock()
        return True

    def _look(self, wait_seconds: int) -> bool:
        """Tell whether there was news of ours."""
        news = False
        for heard in self.listener.poll(wait_seconds):
            data = heard.data
            identity = data.get("project_id"), data.get("idempotency_key")
            if heard.type == ASSIGNED and identity in self.missing:
                self.missing.discard(identity)
                self.on_number(heard)
                news = True
        self._last_look = self.clock()
        return news
