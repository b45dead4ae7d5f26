"""The latency profiles: the time that AWS takes, as others measured it, and as assumed.

Measured: by a client on Lambda, 400 calls each, us-east-1, 2020;
github.com/alexdebrie/dynamodb-performance-testing, put-batch-transaction-performance.
A transaction in which a condition fails took as long as one that succeeds.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from simulation.aws.latency import Latency, Steps
from simulation.engine.choices import Choices

ASSUMPTIONS: Final = (
    "a transaction prepares in 20 % of its time, decides in 60 % and commits in 20 %",
    "above 25 items its time grows as between 5 and 25",
    "a Query and a PublishBatch take as long as the PutItem that was measured",
    "2.5 ms of a call and 5 ms of a transaction are the client's, and in the overhead",
)
"""Nobody published these times."""

SHARES: Final = (0.0, 0.5, 0.9, 0.95, 0.99, 1.0)
PUT_MS: Final = (5.47, 7.55, 11.3, 13.2, 16.2, 29.0)
FEW_ITEMS, MANY_ITEMS = 5, 25
FEW_MS: Final = (19.4, 25.3, 30.7, 36.4, 92.5, 218.0)
MANY_MS: Final = (23.5, 32.1, 40.5, 47.2, 97.5, 258.0)
"""Measured: the shortest time, p50, p90, p95, p99 and the longest."""

CALL_CLIENT_MS: Final = 2.5
TRANSACTION_CLIENT_MS: Final = 5.0
PHASE: Final = 0.2
"""Assumed, as above."""

USUAL_ITEMS: Final = 20
"""Of a block of ten tickets, to which times of one's own belong."""


@dataclass(frozen=True)
class Distribution:
    """A distribution by some of its quantiles, even between them."""

    values: tuple[float, ...]
    shares: tuple[float, ...] = SHARES
    """From 0 to 1: the shares that do not exceed the values."""

    def at(self, share: float) -> float:
        """Return the value that a share does not exceed."""
        part = max(1, bisect_left(self.shares, share))
        (low, high), (least, most) = (
            points[part - 1 : part + 1] for points in (self.shares, self.values)
        )
        return least + (most - least) * (share - low) / (high - low)

    def sample(self, choices: Choices) -> float:
        """Draw a value."""
        return self.at(choices.duration(0.0, 1.0))

    @property
    def mean(self) -> float:
        """The mean value."""
        parts = pairwise(zip(self.shares, self.values, strict=True))
        return sum(
            (least + most) / 2 * (high - low) for (low, least), (high, most) in parts
        )


@dataclass(frozen=True)
class Profile:
    """The times of calls, from the request to its answer, in seconds."""

    name: str
    call: Distribution
    publish: Distribution
    few: Distribution
    """Of transactions with few items."""
    many: Distribution

    def transaction(self, items: int) -> Distribution:
        """Return the time of a transaction of this number of items."""
        share = (items - FEW_ITEMS) / (MANY_ITEMS - FEW_ITEMS)
        pairs = zip(self.few.values, self.many.values, strict=True)
        values = tuple(few + (many - few) * share for few, many in pairs)
        return replace(self.few, values=values)

    def scaled(self, factor: float, name: str) -> "Profile":
        """Return the profile with each time multiplied."""
        factors = [factor] * len(SHARES)
        every = (self.call, self.publish, self.few, self.many)
        return Profile(name, *(_multiplied(times, factors) for times in every))


def _multiplied(times: Distribution, factors: Sequence[float]) -> Distribution:
    pairs = zip(times.values, factors, strict=True)
    return replace(times, values=tuple(value * factor for value, factor in pairs))


def _measured(milliseconds: Sequence[float], client: float) -> Distribution:
    return Distribution(tuple((value - client) / 1000 for value in milliseconds))


_CALL: Final = _measured(PUT_MS, CALL_CLIENT_MS)
_FAST_CALL: Final = Distribution((0.003, 0.007), (0.0, 1.0))
_FAST: Final = Distribution((0.012, 0.018), (0.0, 1.0))

MEASURED: Final = Profile(
    "measured",
    _CALL,
    _CALL,
    _measured(FEW_MS, TRANSACTION_CLIENT_MS),
    _measured(MANY_MS, TRANSACTION_CLIENT_MS),
)
PROFILES: Final = {
    profile.name: profile
    for profile in (
        MEASURED,
        Profile("fast", _FAST_CALL, _FAST_CALL, _FAST, _FAST),
        MEASURED.scaled(2.0, "slow"),
    )
}


@dataclass(frozen=True)
class ProfileLatency(Latency):
    """The times of a profile, on the model.

    A request takes half of a call's median; what a call takes longer, its answer takes.
    """

    profile: Profile = MEASURED

    def way(self, choices: Choices, operation: str, *, is_answer: bool) -> float:
        """Return the time of a request, or of its answer."""
        half = self.profile.call.at(0.5) / 2
        if not is_answer or operation == "transact_write_items":
            return half
        is_publish = operation == "publish_batch"
        times = self.profile.publish if is_publish else self.profile.call
        return max(0.0, times.sample(choices) - half)

    def steps(self, choices: Choices, items: int) -> Steps:
        """Return the times of a transaction, without those of its ways."""
        whole = self.profile.transaction(items).sample(choices)
        whole = max(0.0, whole - self.profile.call.at(0.5))
        item = PHASE * whole / items
        # The first item is prepared at once.
        return Steps(lambda: item, whole - (2 * items - 1) * item)


class _Quantiles(BaseModel):
    p50: float
    p90: float
    p99: float

    def beside(self, measured: Distribution) -> list[float]:
        """Return the factors of a measured distribution's values.

        Raises:
            ValueError: The times are not positive, or do not grow.
        """
        if not 0 < self.p50 <= self.p90 <= self.p99:
            raise ValueError("p50, p90 and p99 must be positive and grow")
        shares = {0.5: self.p50, 0.9: self.p90, 0.99: self.p99}
        half, most, tail = (
            value / 1000 / measured.at(share) for share, value in shares.items()
        )
        return [half, half, most, (most + tail) / 2, tail, tail]


class _Report(BaseModel):
    latencies_ms: dict[str, _Quantiles]


def profile_of(name: str, times: str = "") -> Profile:
    """Return a profile, or the measured one with times of one's own.

    Args:
        name: The profile's.
        times: p50,p90,p99 of a transaction of ten tickets, in milliseconds, or a JSON
            file whose `latencies_ms` has them by operation.

    Raises:
        ValueError: There is no such profile or file, or the times are malformed.
    """
    if not times:
        if name not in PROFILES:
            raise ValueError(f"there is no profile {name!r}: {', '.join(PROFILES)}")
        return PROFILES[name]
    try:
        return _with_times(f"measured, but {times}", _own_times(times))
    except (OSError, ValueError) as error:
        raise ValueError(f"{times}: {error}") from error


def _own_times(times: str) -> Mapping[str, _Quantiles]:
    if times.endswith(".json"):
        return _Report.model_validate_json(Path(times).read_bytes()).latencies_ms
    numbers = dict(zip(("p50", "p90", "p99"), times.split(","), strict=True))
    return {"TransactWriteItems": _Quantiles.model_validate(numbers)}


def _with_times(name: str, times: Mapping[str, _Quantiles]) -> Profile:
    """Return the measured profile with other times of some operations."""
    measured = {
        "Query": _CALL,
        "PublishBatch": _CALL,
        "TransactWriteItems": MEASURED.transaction(USUAL_ITEMS),
    }
    ones = [1.0] * len(SHARES)
    call, publish, write = (
        times[operation].beside(of) if operation in times else ones
        for operation, of in measured.items()
    )
    return Profile(
        name,
        _multiplied(_CALL, call),
        _multiplied(_CALL, publish),
        _multiplied(MEASURED.few, write),
        _multiplied(MEASURED.many, write),
    )
