"""The delays of a command that meets other writers."""

import pytest

from ticketctl.aws.retry import RetryPolicy
from ticketctl.cli.errors import BusyError


def test_delays_double_from_the_shortest_to_the_longest() -> None:
    """Each is a random part of that: two writers shall not meet twice."""
    ranges: list[tuple[float, float]] = []

    def longest(low: float, high: float) -> float:
        ranges.append((low, high))
        return high

    slept: list[float] = []
    policy = RetryPolicy(5, 0.25, 1.5, slept.append, longest)

    with pytest.raises(BusyError):
        policy.until(lambda: None, "somebody is in the way")

    assert slept == [0.25, 0.5, 1.0, 1.5, 1.5]
    assert {low for low, _ in ranges} == {0.0}
