"""The requested profile: a published one, or the measured one with given times."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from benchmarks.profiles import (
    MEASURED,
    PROFILES,
    SHARES,
    USUAL_ITEMS,
    Distribution,
    Profile,
)


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
    """Return a profile, or the measured one with other times.

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
        "Query": MEASURED.call,
        "PublishBatch": MEASURED.publish,
        "TransactWriteItems": MEASURED.transaction(USUAL_ITEMS),
    }
    ones = [1.0] * len(SHARES)
    call, publish, write = (
        times[operation].beside(of) if operation in times else ones
        for operation, of in measured.items()
    )
    return Profile(
        name,
        MEASURED.call.multiplied(call),
        MEASURED.publish.multiplied(publish),
        MEASURED.few.multiplied(write),
        MEASURED.many.multiplied(write),
    )
