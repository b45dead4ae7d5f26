"""What a run came to, a ticket or in seconds; and the mean of several runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import mean
from typing import Any, Final


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Figures of one run, or of several."""

    requests: float
    """Of the function, a ticket, as are the units."""
    publishes: float
    lookups: float
    """Those of them that publish, and that look up what was delivered before."""
    write_units: float
    read_units: float
    attempts: float
    """Writes of tickets that were sent, for one that succeeded."""
    tickets_a_second: float
    batches: float
    """Invocations a ticket."""
    batch_seconds: float
    p50: float
    p99: float
    longest: float
    """Seconds from receive to announced."""
    p99_from_sending: float
    starved: int
    """Messages that went back to the queue because time or attempts ran out."""
    duplicates: float
    """Share of the tickets whose request had one already."""


_NOT_MEANS: Final[Mapping[str, Callable[[Any], float]]] = {
    "longest": max,
    "starved": sum,
}


def mean_of(runs: Sequence[Figures]) -> Figures:
    """Return the means of runs with different seeds: of some the sum or the maximum."""
    values: dict[str, Any] = {}
    for name in (field.name for field in fields(Figures)):
        combine = _NOT_MEANS.get(name, mean)
        values[name] = combine(getattr(run, name) for run in runs)
    return Figures(**values)


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile; 0 of nothing."""
    ordered = sorted(values) or [0.0]
    return ordered[round((len(ordered) - 1) * share)]
