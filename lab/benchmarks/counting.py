"""Counts of a run, taken at the model's edges: the same for every contender."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from simulation.aws.faults import Fault
from simulation.aws.tables import TICKETS
from simulation.checks.history import History


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Figures of one run, or of several."""

    requests: float
    """Requests of the function per ticket; the units are per ticket, too."""
    publishes: float
    lookups: float
    """The requests that publish, and that look up keys."""
    write_units: float
    read_units: float
    attempts: float
    """Writes of tickets that were sent, for one that succeeded."""
    tickets_a_second: float
    bound: float
    """The tickets a second that no policy exceeds."""
    batches: float
    """Invocations a ticket."""
    batch_seconds: float
    p50: float
    mean: float
    p99: float
    """Seconds from receive to announced, or to the end of the run."""
    p99_of_quiet: float
    """Seconds from sending to announced, of all projects but P0."""
    starved: int
    """Messages that went back to the queue because time or attempts ran out."""
    duplicates: float
    """Share of the tickets whose request had one already."""


def mean_of(runs: Sequence[Figures]) -> Figures:
    """Return the means of runs with different seeds; of losses the sum."""
    values: dict[str, Any] = {
        name: mean(getattr(run, name) for run in runs)
        for name in Figures.__annotations__
    }
    values["starved"] = sum(run.starved for run in runs)
    return Figures(**values)


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile; 0 of nothing."""
    ordered = sorted(values) or [0.0]
    return ordered[round((len(ordered) - 1) * share)]


@dataclass
class Counts:
    """The counts of the measured time."""

    requests: Counter[str] = field(default_factory=Counter)
    """Requests of the function by operation; botocore's retries count."""
    attempts: int = 0
    """Writes sent: the worker's blocks, the others' single tickets."""
    commits: int = 0
    """The writes that succeeded."""
    tickets: int = 0
    duplicates: int = 0
    """Tickets of requests that had one already."""
    waits: list[float] = field(default_factory=list)
    """Seconds from a message's first receive to its first announcement.

    At the end those that still wait are added.
    """
    quiet_delays: list[float] = field(default_factory=list)
    """Seconds from its sending, of all projects but P0."""
    batches: list[float] = field(default_factory=list)
    """Seconds that each invocation took."""
    starved: int = 0

    def figures(
        self, seconds: float, written: float, read: float, bound: float
    ) -> Figures:
        """Return the figures, given the seconds, write units, read units and bound."""
        tickets = max(1, self.tickets)
        return Figures(
            requests=self.requests.total() / tickets,
            publishes=self.requests["publish_batch"] / tickets,
            lookups=self.requests["batch_get_item"] / tickets,
            write_units=written / tickets,
            read_units=read / tickets,
            attempts=self.attempts / max(1, self.commits),
            tickets_a_second=self.tickets / seconds,
            bound=bound,
            batches=len(self.batches) / tickets,
            batch_seconds=mean(self.batches or [0.0]),
            p50=percentile(self.waits, 0.5),
            mean=mean(self.waits or [0.0]),
            p99=percentile(self.waits, 0.99),
            p99_of_quiet=percentile(self.quiet_delays, 0.99),
            starved=self.starved,
            duplicates=self.duplicates / tickets,
        )


@dataclass
class Meter(History):
    """Counts calls and announcements, and keeps none."""

    counts: Counts = field(default_factory=Counts)
    """Emptied when the measuring begins."""
    received: dict[str, tuple[float, float]] = field(default_factory=dict)
    """When each idempotency key was first received, and when it was sent."""

    def called(
        self, operation: str, request: Mapping[str, Any], fault: Fault | None
    ) -> None:
        """Count a call."""
        del fault
        self.counts.requests[operation] += 1
        self.counts.attempts += operation == "transact_write_items" or (
            operation == "put_item" and request["TableName"] == TICKETS
        )

    def note(self, what: str, detail: Any = None) -> None:
        """Keep nothing."""

    def announced(self, event: Mapping[str, Any]) -> None:
        """Count an announcement, if it is the request's first."""
        key = event["data"]["idempotency_key"]
        if key in self.received:
            received_at, sent_at = self.received.pop(key)
            self.counts.waits.append(self.scheduler.now - received_at)
            if event["data"]["project_id"] != "P0":
                self.counts.quiet_delays.append(self.scheduler.now - sent_at)
