"""FIFO queues: arrival order is number order, and nobody contends for a project."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import mean
from typing import Final

import pytest

from simulation.aws.queues import Message, reason_of
from simulation.engine.choices import RandomChoices
from simulation.faults import RandomFaults
from simulation.scenario import Scenario, Sending, random_scenario, request
from simulation.world import Outcome, World, quiet

HISTORIES: Final = range(1, 301)
MAX_BATCH: Final = 10
"""Lambda takes no more of a FIFO queue; developer guide, "Batching behavior"."""
CALM_DAYS: Final = range(1, 11)


@dataclass(frozen=True)
class Played:
    """A history, and what stands in its tables and queues."""

    world: World
    outcome: Outcome

    def asked(self, project: str) -> list[tuple[str, str]]:
        """Return the project's numbered requests, in the order in which they came."""
        sent = self.world.monitor.sent
        requests = dict.fromkeys(sent[each.body] for each in self.arrived)
        return [
            each
            for each in requests
            if each and each[0] == project and each in self.world.monitor.numbered
        ]

    def numbers(self, project: str) -> list[int]:
        """Return the project's numbers, in the order in which they were asked for."""
        numbered = self.world.monitor.numbered
        return [numbered[each][0] for each in self.asked(project)]

    @property
    def arrived(self) -> list[Message]:
        """Every message that ever came."""
        return self.world.queue.arrived

    @property
    def is_in_order(self) -> bool:
        """Whether every project's numbers follow the order of arrival."""
        projects = {project for project, _ in self.world.monitor.numbered}
        return all(
            self.numbers(each) == sorted(self.numbers(each)) for each in projects
        )

    @property
    def gave_up(self) -> bool:
        """Whether a message was received too often, which lets others pass it."""
        letters = self.world.dead_letters.arrived
        return any(reason_of(letter) is None for letter in letters)


def played(scenario: Scenario, choices: RandomChoices) -> Played:
    """Play a scenario to its end, with the faults that it asks for."""
    world = World(scenario, choices, RandomFaults(choices, scenario.fault_rate))
    with quiet():
        return Played(world, world.run())


def histories(*, fifo: bool) -> Iterator[Played]:
    """Play random histories in one of the modes."""
    for seed in HISTORIES:
        choices = RandomChoices(seed)
        day = random_scenario(choices)
        batch_size = min(day.batch_size, MAX_BATCH) if fifo else day.batch_size
        yield played(replace(day, fifo=fifo, batch_size=batch_size), choices)


class TestOrder:
    """Number order is arrival order, as long as no message was given up."""

    def test_numbers_follow_arrival_whatever_goes_wrong(self) -> None:
        """And every promise holds, as on a standard queue."""
        all_of_them = [*histories(fifo=True)]
        kept = [each for each in all_of_them if not each.gave_up]

        assert [
            each.outcome.violation for each in all_of_them if each.outcome.violation
        ] == []
        assert len(kept) > len(HISTORIES) / 2
        assert all(each.is_in_order for each in kept)

    def test_numbers_do_not_always_follow_arrival_when_the_queue_is_standard(
        self,
    ) -> None:
        """Or the test above would prove nothing."""
        assert not all(each.is_in_order for each in histories(fifo=False))


def hot_days(workers: int, *, fifo: bool) -> list[Outcome]:
    """Play calm days on which ten full batches of one project wait."""
    bodies = [request("P", f"key-{number}") for number in range(100)]
    day = Scenario([Sending(0.0, body) for body in bodies], workers, fifo=fifo)
    return [played(day, RandomChoices(seed)).outcome for seed in CALM_DAYS]


class TestContention:
    """One batch of a project is worked on at a time, so nobody is in its way."""

    @pytest.mark.parametrize("workers", [1, 2, 10])
    def test_every_block_is_written_at_the_first_attempt(self, workers: int) -> None:
        """However many workers there are: it costs what a single one costs."""
        for day in hot_days(workers, fifo=True):
            assert (day.violation, day.tickets, day.attempts) == (None, 100, 10)
            assert day.write_units == 4.0 * day.tickets
            assert day.calls <= 0.3 * day.tickets

    def test_blocks_take_more_attempts_when_the_queue_is_standard(self) -> None:
        """The same days cost several times as much."""
        days = hot_days(10, fifo=False)

        assert mean(day.attempts for day in days) > 20
        assert mean(day.write_units for day in days) > 800


class TestDeduplication:
    """A repeat within five minutes is dropped, another ticket never is."""

    @pytest.mark.parametrize(("seconds", "deliveries"), [(299.0, 1), (301.0, 2)])
    def test_same_bytes_are_dropped_for_five_minutes(
        self, seconds: float, deliveries: int
    ) -> None:
        """They could only have been a replay."""
        body = request("P", "key")
        sendings = [Sending(0.0, body), Sending(seconds, body)]

        day = played(Scenario(sendings, fifo=True), RandomChoices(1))

        assert (day.outcome.violation, day.outcome.tickets) == (None, 1)
        assert len(day.arrived) == deliveries

    def test_other_ticket_of_the_same_key_is_dead_lettered_not_dropped(self) -> None:
        """It would be dropped if the key were the deduplication id."""
        sendings = [Sending(0.0, request("P", "key", title)) for title in "AB"]

        day = played(Scenario(sendings, fifo=True), RandomChoices(1))

        [letter] = day.world.dead_letters.arrived
        assert day.outcome.violation is None
        assert letter.body == sendings[1].body
        assert reason_of(letter) == "IdempotencyMismatchError"
