"""Tasks, the processes that they belong to, and the futures that they wait for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from greenlet import greenlet

FOREVER: Final = float("inf")


@dataclass(eq=False)
class Future:
    """A result that a task can wait for."""

    done: bool = False
    value: Any = None
    waiting: "Wakeup | None" = None


@dataclass(eq=False)
class Process:
    """Tasks that are killed together: those of one invocation, or of all services."""

    name: str
    alive: bool = True
    tasks: list["Task"] = field(default_factory=list)
    ended: Future = field(default_factory=Future)
    """Resolved with None if the process is killed."""
    calls: int = 0


class Task(greenlet):
    """One thread of control."""

    def __init__(
        self, hub: greenlet, process: Process, name: str, action: Callable[[], object]
    ) -> None:
        super().__init__(action, hub)
        self.process = process
        self.name = name


@dataclass(eq=False, slots=True)
class Wakeup:
    """A task and the time at which it goes on."""

    task: Task
    time: float
    is_local: bool = False
    """Its step touches nothing that other tasks see, so it need not be a choice."""
    cancelled: bool = False
