"""The contenders on the model: what a ticket of each costs, and who numbers it once."""

from dataclasses import replace

import pytest

from benchmarks.cells import CALM, TWICE
from benchmarks.contenders import CONTENDERS, OURS, TEXTBOOK
from benchmarks.counting import Figures, Meter
from benchmarks.model_run import play
from benchmarks.profiles import MEASURED
from benchmarks.queues import CountedFairQueue
from benchmarks.workloads import Workload
from simulation.aws.fair_queues import NOISY_IN_FLIGHT
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler

SHORT = 0.2

# Requests and write units of a ticket without contention, as the sources have them.
COSTS = {
    OURS: (0.3, 4.0),
    TEXTBOOK: (3.0, 1.0),
    "locked-counter": (3.0, 4.0),
    "add-counter": (3.0, 2.0),
    "powertools": (5.0, 3.0),
}
KEEPS_KEYS = {OURS, "powertools"}


def played(contender: str, workload: Workload) -> Figures:
    """Play a short run."""
    return play(contender, workload, MEASURED, seed=1, scale=SHORT)


@pytest.mark.parametrize("contender", CONTENDERS)
class TestContenders:
    """The comparison is fair: each costs and promises what its source says."""

    def test_requests_and_units_are_those_of_the_source_when_there_is_no_contention(
        self, contender: str
    ) -> None:
        found = played(contender, replace(CALM, rate=5.0))

        assert (found.requests, found.write_units) == pytest.approx(
            COSTS[contender], rel=0.1
        )
        assert (found.attempts, found.duplicates) == (1.0, 0)

    def test_request_has_a_second_number_when_keys_are_not_kept(
        self, contender: str
    ) -> None:
        has_second = played(contender, TWICE).duplicates > 0

        assert has_second == (contender not in KEEPS_KEYS)


@pytest.fixture
def queue() -> CountedFairQueue:
    """SQS developer guide, "How Amazon SQS fair queues work"."""
    choices = Choices(1)
    scheduler = Scheduler(choices)
    return CountedFairQueue("q", choices, scheduler, meter=Meter(scheduler))


def send(queue: CountedFairQueue, group: str, count: int) -> None:
    for _ in range(count):
        queue.send('{"idempotency_key": "k"}', group=group)


@pytest.mark.parametrize("in_flight", [1, NOISY_IN_FLIGHT])
def test_quiet_group_comes_first_when_another_took_the_time_or_the_workers(
    queue: CountedFairQueue, in_flight: int
) -> None:
    send(queue, "noisy", NOISY_IN_FLIGHT + 99)
    received = queue.receive(in_flight)
    queue.scheduler.now += 1.0
    if in_flight == 1:
        queue.delete(received[0].id)
    send(queue, "quiet", 1)

    assert [message.group for message in queue.receive(2)] == ["quiet", "noisy"]


def test_noisy_group_with_the_fewest_messages_in_flight_comes_first(
    queue: CountedFairQueue,
) -> None:
    send(queue, "fewer", NOISY_IN_FLIGHT)
    queue.receive(NOISY_IN_FLIGHT)
    send(queue, "more", NOISY_IN_FLIGHT + 99)
    queue.receive(NOISY_IN_FLIGHT + 9)
    send(queue, "fewer", 1)

    assert [message.group for message in queue.receive(1)] == ["fewer"]
