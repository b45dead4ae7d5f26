"""The delays of a command that meets other writers."""

import time

import pytest

from tests.support.stage import Stage
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.sender import Sender
from ticketctl.aws.table_reader import TableReader
from ticketctl.cli.errors import BusyError
from ticketctl.sequences.reannouncing import Reannouncement


def test_delays_double_from_the_shortest_to_the_longest() -> None:
    """Each is a random part of that: two writers shall not meet twice."""
    ranges: list[tuple[float, float]] = []

    def longest(low: float, high: float) -> float:
        ranges.append((low, high))
        return high

    slept: list[float] = []
    policy = RetryPolicy(5, 0.25, 1.5, slept.append, longest)

    with pytest.raises(BusyError):
        policy.until(lambda: None, "another writer is in the way")

    assert slept == [0.25, 0.5, 1.0, 1.5]
    assert {low for low, _ in ranges} == {0.0}


def test_delay_stays_the_longest_when_a_wait_looks_for_days() -> None:
    slept: list[float] = []

    RetryPolicy(longest=1.5, sleep=slept.append, jitter=max).back_off(before=50_000)

    assert slept == [1.5]


def test_pauses_are_real_unless_another_clock_is_given(stage: Stage) -> None:
    policy, other = RetryPolicy(), Reannouncement(stage, "PROJ", 1, 2)
    sender = Sender(stage.services.sqs, "source").retry
    waiting = policy, other, sender, TableReader.of(stage)

    assert {policy.sleep for policy in waiting} == {time.sleep}
