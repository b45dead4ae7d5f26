"""What is counted while a contender works, the same for all."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

PERCENTILES = {"p50": 0.50, "p90": 0.90, "p99": 0.99, "max": 1.0}


@dataclass
class Tally:
    """Counts of one run."""

    requests: Counter[str] = field(default_factory=Counter)
    """Requests of the function, by operation; botocore's retries count."""
    write_units: float = 0.0
    read_units: float = 0.0
    tickets: int = 0
    attempts: list[float] = field(default_factory=list)
    """Writes tried for each that succeeded: of a block, or of a ticket."""
    waits: list[float] = field(default_factory=list)
    """Seconds from a message's first receive to its first announcement."""
    batches: list[float] = field(default_factory=list)
    """Seconds that each invocation took."""
    failed: int = 0
    """Messages that went back to the queue."""
    redelivered: int = 0
    """Messages received again."""
    timeouts: int = 0
    """Invocations that ran into the function's timeout."""

    def snapshot(self) -> "Tally":
        """Return the counts of this moment."""
        return Tally(**{each.name: _copy(getattr(self, each.name)) for each in _fields})

    def add(self, other: "Tally") -> None:
        """Add what another worker counted."""
        for each in _fields:
            total = getattr(self, each.name) + getattr(other, each.name)
            setattr(self, each.name, total)

    def since(self, earlier: "Tally") -> "Tally":
        """Return what was counted since an earlier moment of the same run."""
        return Tally(
            **{
                each.name: _less(getattr(self, each.name), getattr(earlier, each.name))
                for each in _fields
            }
        )


_fields = fields(Tally)


def _copy(value: Any) -> Any:
    return value if isinstance(value, int | float) else value.copy()


def _less(value: Any, earlier: Any) -> Any:
    return value[len(earlier) :] if isinstance(value, list) else value - earlier


def percentiles(values: Sequence[float]) -> Mapping[str, float]:
    """Return p50, p90, p99, the maximum and the mean; nothing of nothing."""
    if not values:
        return {}
    ordered = sorted(values)
    last = len(ordered) - 1
    found = {name: ordered[round(last * share)] for name, share in PERCENTILES.items()}
    return found | {"mean": sum(values) / len(values)}


def gaps_and_duplicates(tickets: Sequence[tuple[str, int, str]]) -> tuple[int, int]:
    """Return how many numbers were skipped, and how many tickets are one too many.

    Args:
        tickets: Project, number and idempotency key of every ticket.
    """
    numbers: dict[str, set[int]] = {}
    for project, number, _ in tickets:
        numbers.setdefault(project, set()).add(number)
    gaps = sum(max(found) - len(found) for found in numbers.values())
    requests = {(project, key) for project, _, key in tickets}
    return gaps, len(tickets) - len(requests)
