"""The latency profiles: the time that AWS takes, as others measured it, and as assumed.

Measured: by a client on Lambda, 400 calls each, us-east-1, 2020;
github.com/alexdebrie/dynamodb-performance-testing, put-batch-transaction-performance.
A transaction in which a condition fails took as long as one that succeeds.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from simulation.aws.latency import Latency, Steps
from simulation.engine.choices import Choices

ASSUMPTIONS: Final = (
    "a transaction prepares in 20 % of its time, decides in 60 % and commits in 20 %",
    "above 25 items its time grows as between 5 and 25",
    "a Query and a PublishBatch take as long as the PutItem that was measured",
    "2.5 ms of a call and 5 ms of a transaction are the client's, and in the overhead",
)
"""These times were never published."""

SHARES: Final = (0.0, 0.5, 0.9, 0.95, 0.99, 1.0)
PUT_MS: Final = (5.47, 7.55, 11.3, 13.2, 16.2, 29.0)
FEW_ITEMS, MANY_ITEMS = 5, 25
FEW_MS: Final = (19.4, 25.3, 30.7, 36.4, 92.5, 218.0)
MANY_MS: Final = (23.5, 32.1, 40.5, 47.2, 97.5, 258.0)
"""Measured: the shortest time, p50, p90, p95, p99 and the longest."""

CALL_CLIENT_MS: Final = 2.5
TRANSACTION_CLIENT_MS: Final = 5.0
PHASE: Final = 0.2
"""Assumed, in the same form."""


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

    def multiplied(self, factors: Sequence[float]) -> "Distribution":
        """Return the distribution with each value multiplied by its factor."""
        pairs = zip(self.values, factors, strict=True)
        return replace(self, values=tuple(value * factor for value, factor in pairs))

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
    """The times of transactions with few items."""
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
        return Profile(name, *(times.multiplied(factors) for times in every))


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
        # The client's time again for each call, not only for a batch's first ones.
        Profile(
            "client",
            _measured(PUT_MS, 0.0),
            _CALL,
            _measured(FEW_MS, 0.0),
            _measured(MANY_MS, 0.0),
        ),
    )
}


@dataclass(frozen=True)
class ProfileLatency(Latency):
    """The times of a profile, on the model.

    A request takes half of a call's median, and its answer takes the rest of the call.
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
