"""The task of numbering one project's requests, which takes turns with the others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.allocation.progress import Allocation
from ticket_numbering.allocation.store import TimeLeft
from ticket_numbering.contract.messages import CreateTicket

Value = TypeVar("Value")


@dataclass
class ProjectTask:
    """Allocates a project's numbers, turn by turn."""

    allocator: Allocator
    project_id: str
    requests: Sequence[CreateTicket]
    in_order: bool
    time_left: TimeLeft

    @cached_property
    def allocation(self) -> Allocation:
        """Its progress; begins in its first turn, for a cached number ages quickly."""
        allocation = self.allocator.start(self.project_id, self.requests)
        allocation.in_order = self.in_order
        return allocation

    def __call__(self) -> float | None:
        """Go on until it is done, or must wait for the seconds that it returns."""
        allocation = self.allocation
        delay = caught(lambda: self.allocator.advance(allocation, self.time_left))
        if isinstance(delay, Exception):
            allocation.last_error = delay
            return None
        return delay


def caught(action: Callable[[], Value]) -> Value | Exception:
    """Run the action; a failure, even a bug, becomes a value of this record alone."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - the edge: a bug must not fail the batch
        return error
