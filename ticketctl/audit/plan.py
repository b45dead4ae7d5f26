"""What an audit reads, and how."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class AuditPlan:
    """What is asked for."""

    tickets_table: str
    keys_table: str
    projects: tuple[str, ...] = ()
    """Only these; all if there are none."""
    segments: int = 1
    """Threads that read side by side."""
    retention: timedelta | None = None
    """How long keys are kept; for ever if not given."""
    on_read: Callable[[int, int, float], None] = lambda _tickets, _keys, _units: None
    """Hears, now and then, of the tickets, keys and read units so far."""
