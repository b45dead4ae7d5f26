"""The head of a sequence after our own last block, for milliseconds.

Only a shortcut: it saves a read, and a new execution environment has none of it.
It is safe however old it is, because it was seen committed.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from ticket_numbering.contract.head import Head

TTL: Final = timedelta(milliseconds=15)
"""About a transaction: a worker that waited for ours has not committed before.

After that a read costs less than the conflicts and collisions that it saves.
"""

MAX_PROJECTS: Final = 1_000
"""Bounds the memory; one more empties the cache, at the cost of a read a project."""

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class SequenceCache:
    """Caches the head of each project.

    Only a block of our own that was committed is cached: never a number that was
    tried, and never a replay's.
    """

    ttl: timedelta = TTL
    entries: dict[str, tuple[Head, datetime]] = field(default_factory=dict)
    """The head, and when it was committed, by project."""

    def head(self, project_id: str, now: datetime) -> Head | None:
        """Return the last ticket of our last block; None if that was too long ago."""
        head, committed_at = self.entries.get(project_id, (None, _NEVER))
        # abs: a clock that was set back must not make an old head young again.
        return head if abs(now - committed_at) <= self.ttl else None

    def committed(self, project_id: str, head: Head, now: datetime) -> None:
        """Cache the last ticket of our committed block."""
        if project_id not in self.entries and len(self.entries) >= MAX_PROJECTS:
            self.entries.clear()
        self.entries[project_id] = head, now
