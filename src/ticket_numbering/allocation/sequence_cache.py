"""Caches the head of a sequence after the last own block, for milliseconds.

The cache saves a read, and is empty in a new execution environment.
A cached head is safe at any age, because it was seen committed.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from ticket_numbering.contract.head import Head

TTL: Final = timedelta(milliseconds=15)
"""About as long as a transaction: no worker that waited for it can commit earlier.

After that a read costs less than the conflicts and collisions that it prevents.
"""

MAX_PROJECTS: Final = 1_000
"""Bounds the memory; one more project empties the cache, at a read for each project."""

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class SequenceCache:
    """Caches the head of each project.

    Only the head after a committed own block is cached: never a number that was only
    tried, and never that of a replay.
    """

    ttl: timedelta = TTL
    entries: dict[str, tuple[Head, datetime]] = field(default_factory=dict)
    """The head and the time of its commit, by project."""

    def head(self, project_id: str, now: datetime) -> Head | None:
        """Return the last ticket of the last own block; None if that is too old."""
        head, committed_at = self.entries.get(project_id, (None, _NEVER))
        # abs: a clock that was set back must not make an old head young.
        return head if abs(now - committed_at) <= self.ttl else None

    def committed(self, project_id: str, head: Head, now: datetime) -> None:
        """Cache the last ticket of a committed own block."""
        if project_id not in self.entries and len(self.entries) >= MAX_PROJECTS:
            self.entries.clear()
        self.entries[project_id] = head, now
