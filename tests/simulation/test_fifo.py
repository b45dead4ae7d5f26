"""FIFO queues: arrival order is number order, without contention for a project."""

from dataclasses import replace
from statistics import mean
from typing import Final

import pytest

from simulation.aws.messages import reason_of
from simulation.checks.violations import Invariant
from simulation.engine.choices import Choices
from simulation.known_bad.algorithms import ALGORITHMS
from simulation.scenarios.producers import Sending, request
from simulation.scenarios.random_scenarios import FIFO_BATCH, random_scenario
from simulation.scenarios.scenario import Scenario
from simulation.world.execution_environment import SHIPPED, Algorithm
from simulation.world.world import Outcome, World
from tests.simulation.test_costs import calm_day

HISTORIES: Final = range(1, 76)
CALM_DAYS: Final = range(1, 11)

LATE_RIVALS: Final = ALGORITHMS["a rival comes after the others"]


def played(
    scenario: Scenario, seed: int, algorithm: Algorithm = SHIPPED
) -> tuple[World, Outcome]:
    """Play a scenario to its end; return the tables and queues, too."""
    world = World(scenario, Choices(seed), algorithm)
    return world, world.run()


class TestOrder:
    """Number order is arrival order, as long as no message was given up."""

    def test_numbers_follow_arrival_when_anything_may_fail(self) -> None:
        """And every promise is kept, as on a standard queue."""
        violations, complete = set(), 0
        for choices in map(Choices, HISTORIES):
            day = random_scenario(choices)
            size = min(day.batch_size, FIFO_BATCH)
            world = World(replace(day, fifo=True, batch_size=size), choices)
            violations.add(world.run().violation)
            # SQS gave up none, which lets others pass it.
            complete += all(map(reason_of, world.services.dead_letters.arrived))

        assert violations == {None}
        assert complete > len(HISTORIES) / 2

    @pytest.mark.parametrize("seed", CALM_DAYS)
    def test_rival_of_a_refused_request_keeps_its_place_when_it_is_numbered(
        self, seed: int
    ) -> None:
        """At its first delivery; to be numbered last would let others overtake it."""
        bodies = [
            request("P", "first"),
            request("P", "k", max_number=1),
            request("P", "k", "rival"),
            *[request("P", f"later-{number}") for number in range(3)],
        ]
        sendings = [Sending(0.0, body) for body in bodies]
        scenario = Scenario(sendings, fifo=True, is_fair=True)

        _, day = played(scenario, seed)
        _, bad = played(scenario, seed, LATE_RIVALS)

        assert (day.violation, day.tickets) == (None, 5)
        assert bad.violation
        assert bad.violation.check is Invariant.OVERTAKEN


def hot_days(workers: int, *, fifo: bool) -> list[Outcome]:
    """Play days without faults on which ten full batches of one project wait."""
    day = replace(calm_day(100, workers), fifo=fifo)
    return [World(day, Choices(seed)).run() for seed in CALM_DAYS]


class TestContention:
    """One batch of a project is worked on at a time, so no worker contends for it."""

    @pytest.mark.parametrize("workers", [1, 2, 10])
    def test_every_block_is_written_at_the_first_attempt_when_there_are_workers(
        self, workers: int
    ) -> None:
        for day in hot_days(workers, fifo=True):
            assert (day.violation, day.tickets, day.history.attempts()) == (
                None,
                100,
                10,
            )
            assert day.write_units == 4.0 * day.tickets
            assert day.calls <= 0.3 * day.tickets

    def test_blocks_take_more_attempts_when_the_queue_is_standard(self) -> None:
        """The same days cost several times as much."""
        days = hot_days(10, fifo=False)

        assert mean(day.history.attempts() for day in days) > 15
        assert mean(day.write_units for day in days) > 600


class TestDeduplication:
    """A repeat within five minutes is dropped, another ticket never is."""

    @pytest.mark.parametrize(("seconds", "deliveries"), [(299.0, 1), (301.0, 2)])
    def test_repeat_is_dropped_when_it_comes_within_five_minutes(
        self, seconds: float, deliveries: int
    ) -> None:
        """It could only have been a replay."""
        body = request("P", "key")
        sendings = [Sending(0.0, body), Sending(seconds, body)]

        world, day = played(Scenario(sendings, fifo=True), seed=1)

        assert (day.violation, day.tickets) == (None, 1)
        assert len(world.services.queue.arrived) == deliveries

    def test_other_ticket_is_dead_lettered_when_it_has_the_same_key(self) -> None:
        """It would be dropped if the key were the deduplication id."""
        sendings = [Sending(0.0, request("P", "key", title)) for title in "AB"]

        world, day = played(Scenario(sendings, fifo=True), seed=1)

        [letter] = world.services.dead_letters.arrived
        assert day.violation is None
        assert letter.body == sendings[1].body
        assert reason_of(letter) == "IdempotencyMismatchError"
