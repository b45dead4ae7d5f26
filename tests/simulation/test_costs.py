"""The costs of numbering on the model, the same on every machine."""

from dataclasses import replace
from typing import Final

import pytest

from simulation.aws.latency import Latency
from simulation.engine.choices import Choices
from simulation.scenarios.producers import Sending, request
from simulation.scenarios.scenario import Scenario
from simulation.world.world import Outcome, World

SEEDS: Final = range(1, 16)


def calm_day(messages: int, pollers: int, times: int = 1) -> Scenario:
    """Return a day of one hot project, without faults."""
    bodies = [request("P", f"key-{number}") for number in range(messages)]
    return Scenario([Sending(0.0, body) for body in bodies * times], pollers=pollers)


def played(scenario: Scenario, seed: int = 1) -> Outcome:
    """Play a scenario without a fault."""
    outcome = World(scenario, Choices(seed)).run()
    assert outcome.violation is None
    return outcome


class TestCostOfCalmDays:
    """One Query, one TransactWriteItems, one PublishBatch, if no number is cached."""

    @pytest.mark.parametrize(
        ("latency", "calls"),
        [(Latency(0.001, 0.002), 1 + 10 * 2), (Latency(0.03, 0.05), 10 * 3)],
        ids=["at once", "after a pause"],
    )
    def test_query_is_left_out_when_batches_follow_at_once(
        self, latency: Latency, calls: int
    ) -> None:
        """Each item is written twice, and a ticket has two items."""
        day = replace(calm_day(100, pollers=1), latency=latency)

        outcomes = [played(day, seed) for seed in SEEDS]

        assert {outcome.calls for outcome in outcomes} == {calls}
        assert {outcome.write_units for outcome in outcomes} == {4.0 * 100}

    def test_write_units_grow_by_the_kilobyte_when_tickets_are_large(self) -> None:
        """A ticket of 3 KB takes 2 x 3 units, its key 2."""
        large = Sending(0.0, request("P", "key", description="x" * 2500))

        outcome = played(replace(calm_day(0, pollers=1), sendings=[large]))

        assert outcome.write_units == 8.0


class TestCostOfContention:
    """Contention of workers on one project costs a bounded amount."""

    @pytest.mark.parametrize(
        ("pollers", "attempts", "units"), [(2, 2.5, 9.0), (5, 4.5, 16.0)]
    )
    def test_attempts_and_write_units_stay_in_bounds_when_workers_contend(
        self, pollers: int, attempts: float, units: float
    ) -> None:
        """Means over 15 histories of full batches that arrive at once."""
        outcomes = [played(calm_day(10 * pollers, pollers), seed) for seed in SEEDS]

        tickets = sum(outcome.tickets for outcome in outcomes)
        written = sum(outcome.history.attempts() for outcome in outcomes)
        assert written / (tickets / 10) <= attempts
        assert sum(outcome.write_units for outcome in outcomes) / tickets <= units

    def test_no_second_ticket_is_paid_for_when_messages_are_sent_twice(self) -> None:
        outcomes = [played(calm_day(10, 2, times=2), seed) for seed in SEEDS]

        assert all(outcome.tickets == 10 for outcome in outcomes)
        assert max(outcome.write_units for outcome in outcomes) <= 40 * 6
