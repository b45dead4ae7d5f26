"""What a run came to, in figures that can be written down."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from benchmarks.tally import Tally, gaps_and_duplicates, percentiles


@dataclass(frozen=True)
class Measurement:
    """Counts of one run, and what they are a ticket."""

    seconds: float
    tickets: int
    gaps: int
    duplicates: int
    requests: Mapping[str, int]
    """By operation."""
    write_units: float
    read_units: float
    failed: int
    redelivered: int
    timeouts: int
    attempts: Mapping[str, float] = field(default_factory=dict)
    """p50, p90, p99, max and mean of the writes tried for one that succeeded."""
    waits: Mapping[str, float] = field(default_factory=dict)
    """Of the seconds from a message's receive to its announcement."""
    batches: Mapping[str, float] = field(default_factory=dict)
    """Of the seconds an invocation takes."""

    @classmethod
    def of(
        cls, tally: Tally, seconds: float, tickets: Sequence[tuple[str, int, str]]
    ) -> Self:
        """Sum up a run.

        Args:
            tally: What was counted in the time measured.
            seconds: That time.
            tickets: Project, number and key of every ticket since the beginning.
        """
        gaps, duplicates = gaps_and_duplicates(tickets)
        return cls(
            seconds,
            tally.tickets,
            gaps,
            duplicates,
            dict(tally.requests),
            tally.write_units,
            tally.read_units,
            tally.failed,
            tally.redelivered,
            tally.timeouts,
            percentiles(tally.attempts),
            percentiles(tally.waits),
            percentiles(tally.batches),
        )

    @property
    def requests_a_ticket(self) -> float:
        """Requests that the function makes, by ticket."""
        return sum(self.requests.values()) / max(1, self.tickets)

    @property
    def write_units_a_ticket(self) -> float:
        """Write units of all tables, by ticket."""
        return self.write_units / max(1, self.tickets)

    @property
    def read_units_a_ticket(self) -> float:
        """Read units of all tables, by ticket."""
        return self.read_units / max(1, self.tickets)

    @property
    def tickets_a_second(self) -> float:
        """Throughput; on the emulator it says nothing of DynamoDB's."""
        return self.tickets / self.seconds if self.seconds else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return what `Measurement(**...)` takes."""
        return asdict(self)
