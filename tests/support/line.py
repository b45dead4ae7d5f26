"""Workers in line, each a shipped allocator, on a clock that calls move."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.builders import create_tickets
from tests.support.fakes import FakeTicketStore
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.allocation.line import Line
from ticket_numbering.allocation.place import LineStore, Place
from ticket_numbering.allocation.progress import Progress
from ticket_numbering.contract.errors import StoreUnavailableError

READ_SECONDS: Final = 0.005
WRITE_SECONDS: Final = 0.025
BATCH_SECONDS: Final = 30.0
RESERVE_SECONDS: Final = 10.0


@dataclass
class Time:
    """A clock, and calls that take time on it."""

    now: float = 0.0

    def taking(self, call: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        """Return a call that takes this long."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            self.now += seconds
            return call(*args, **kwargs)

        return timed


@dataclass
class FakeLine:
    """A line's numbers; a test compares it with the adapter."""

    upto: int = 0
    given_up: int = 0
    calls: list[str] = field(default_factory=list)

    def take(self, project_id: str, head: int, count: int) -> Place:
        """Add to the end, or begin at the head; see `LineStore`."""
        self.calls.append(f"take {project_id} {head} {count}")
        turn = max(self.upto, head)
        self.upto = turn + count
        return Place(turn, self.upto, self.given_up)

    def give_up(self, project_id: str, given_up: int, count: int) -> int:
        """Take off the end, unless others did; see `LineStore`."""
        self.calls.append(f"give_up {project_id} {count}")
        if given_up == self.given_up:
            self.upto -= count
            self.given_up += count
        return self.given_up


@dataclass
class FailingLine(FakeLine):
    """Fails at each call."""

    error: type[Exception] = StoreUnavailableError

    def take(self, project_id: str, head: int, count: int) -> Place:
        """Fail."""
        self.calls.append("take")
        raise self.error(project_id, head, count)

    def give_up(self, project_id: str, given_up: int, count: int) -> int:
        """Fail."""
        self.calls.append("give_up")
        raise self.error(project_id, given_up, count)


@dataclass
class Warm:
    """An execution environment that has met a conflict in PROJ."""

    line_store: LineStore
    tickets: FakeTicketStore = field(default_factory=FakeTicketStore)
    time: Time = field(default_factory=Time)
    line_seconds: float = READ_SECONDS
    line: Line = field(init=False)
    allocator: Allocator = field(init=False)

    def __post_init__(self) -> None:
        time, store = self.time, _Timed(self.line_store, self.time, self.line_seconds)
        self.line = Line(store, lambda: time.now, lambda least, _: least)
        self.line.contended("PROJ")
        tickets: Any = _Timed(self.tickets, time, READ_SECONDS)
        tickets.write_block = time.taking(self.tickets.write_block, WRITE_SECONDS)
        self.allocator = Allocator(
            tickets, 40, RESERVE_SECONDS, jitter=lambda _, most: most, line=self.line
        )

    def start(self, count: int = 10) -> Progress:
        """Return a batch's requests."""
        return self.allocator.start("PROJ", create_tickets(count))

    def finish(self, allocation: Progress) -> float:
        """Number a batch as the worker does; return the seconds that it took."""
        began = self.time.now
        end = began + BATCH_SECONDS
        while (
            delay := self.allocator.advance(allocation, lambda: end - self.time.now)
        ) is not None:
            self.time.now += delay
        return self.time.now - began


class _Timed:
    """Each call of a store takes time."""

    def __init__(self, store: Any, time: Time, seconds: float) -> None:
        self._store, self._time, self._seconds = store, time, seconds

    def __getattr__(self, name: str) -> Any:
        return self._time.taking(getattr(self._store, name), self._seconds)
