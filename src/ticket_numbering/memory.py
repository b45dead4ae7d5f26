"""What a sandbox remembers of a project from one batch to the next.

Only a shortcut: it saves reads and collisions, and a new sandbox has none of it.
The number is safe however old it is, for its predecessor was seen committed.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from ticket_numbering.errors import (
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)

CALM_PAUSE_SECONDS: Final = 0.01
"""About a transaction: whoever was in the way is then done."""

LONGEST_PAUSE_SECONDS: Final = 15.0

CONTENTION_FACTOR: Final = 1.25
"""The pause grows by it when somebody else was faster."""

FAILURE_FACTOR: Final = 2.0
"""The store failed or did not answer, which says nothing of a crowd."""

OVERLOAD_FACTOR: Final = 10.0
OVERLOAD_PAUSE_SECONDS: Final = 1.0
"""The partition has no more to give: each try takes from those who would get through.
"""

PROGRESS_FACTOR: Final = 0.8
"""The pause shrinks by it when a block gets through: the crowd goes by degrees."""

FRESH: Final = timedelta(seconds=0.025)
"""As long as somebody else's batch takes, at least: nobody has probably gone on yet.

After that a read costs less than the collisions that it saves.
"""

MAX_PROJECTS: Final = 1_000

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class ProjectMemory:
    """Where a project's sequence stood, and how crowded it was."""

    pause: float = CALM_PAUSE_SECONDS
    """The latest pause in seconds, at most."""
    _next_number: int | None = None
    _learned_at: datetime = _NEVER

    def next_number(self, now: datetime) -> int | None:
        """Return the number after our last; None if that was too long ago."""
        # abs: a clock that was set back must not make an old number young again.
        return self._next_number if abs(now - self._learned_at) <= FRESH else None

    def committed(self, next_number: int, now: datetime) -> None:
        """Note that a block got through, and which number is next."""
        self._next_number, self._learned_at = next_number, now
        self.pause = max(CALM_PAUSE_SECONDS, self.pause * PROGRESS_FACTOR)

    def set_back(self, error: TransientError) -> float:
        """Return how many seconds to pause at most after a try that failed."""
        match error:
            case StoreThrottledError():
                longer = max(OVERLOAD_PAUSE_SECONDS, self.pause * OVERLOAD_FACTOR)
            case StoreUnavailableError():
                longer = self.pause * FAILURE_FACTOR
            case _:
                longer = self.pause * CONTENTION_FACTOR
        self.pause = min(LONGEST_PAUSE_SECONDS, longer)
        return self.pause


@dataclass(slots=True)
class Memory:
    """The memories of the projects that a sandbox has met."""

    projects: dict[str, ProjectMemory] = field(default_factory=dict)

    def of(self, project_id: str) -> ProjectMemory:
        """Return what is remembered of a project; nothing yet, if it is new."""
        if len(self.projects) >= MAX_PROJECTS:
            self.projects.clear()
        return self.projects.setdefault(project_id, ProjectMemory())
