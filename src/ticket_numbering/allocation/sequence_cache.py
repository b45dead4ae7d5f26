"""The next number after an execution environment's own last block, for milliseconds.

Only a shortcut: it saves a read, and a new execution environment has none of it.
The number is safe however old it is, because its predecessor was seen committed.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

TTL: Final = timedelta(milliseconds=15)
"""About a transaction: a worker that waited for ours has not committed before.

After that a read costs less than the conflicts and collisions that it saves.
"""

MAX_PROJECTS: Final = 1_000

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class SequenceCache:
    """Caches the next number of each project.

    Only a block of our own that was committed is cached: never a number that was
    tried, and never a replay's.
    """

    ttl: timedelta = TTL
    entries: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    """The next number, and when its predecessor was committed, by project."""

    def next_number(self, project_id: str, now: datetime) -> int | None:
        """Return the number after our last block; None if that was too long ago."""
        number, committed_at = self.entries.get(project_id, (None, _NEVER))
        # abs: a clock that was set back must not make an old number young again.
        return number if abs(now - committed_at) <= self.ttl else None

    def committed(self, project_id: str, next_number: int, now: datetime) -> None:
        """Cache the number after our committed block."""
        if project_id not in self.entries and len(self.entries) >= MAX_PROJECTS:
            self.entries.clear()
        self.entries[project_id] = next_number, now
