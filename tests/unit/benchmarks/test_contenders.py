"""The contenders on the model: the cost of a ticket, and duplicate numbers."""

from dataclasses import replace
from typing import Any

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
    """The comparison is fair: costs and promises are those of each source."""

    def test_requests_and_units_are_those_of_the_source_when_there_is_no_contention(
        self, contender: str
    ) -> None:
        figures = played(contender, replace(CALM, rate=5.0))

        assert (figures.requests, figures.write_units) == pytest.approx(
            COSTS[contender], rel=0.1
        )
        assert (figures.attempts, figures.duplicates) == (1.0, 0)

    def test_request_has_a_second_number_when_keys_are_not_kept(
        self, contender: str
    ) -> None:
        has_second = played(contender, TWICE).duplicates > 0

        assert has_second == (contender not in KEEPS_KEYS)


OFTEN = replace(CALM, rate=20.0)


@pytest.mark.parametrize(
    ("option", "figure", "least", "most"),
    [
        ({"faults": 1.0}, "requests", 0.4, 1_000),
        ({"killed": 1.0}, "starved", 10, 200),
        # A ticket of 10 units, in a transaction, and its key.
        ({"text": 10_000}, "write_units", 21.9, 22.1),
        # Half of the requests are refused, for a read of their keys.
        ({"capped": 0.5}, "read_units", 1, 4),
    ],
)
def test_option_of_a_workload_changes_the_figure_that_it_is_about(
    option: dict[str, Any], figure: str, least: float, most: float
) -> None:
    before, after = (
        getattr(played(OURS, workload), figure)
        for workload in (OFTEN, replace(OFTEN, **option))
    )

    assert not least <= before <= most
    assert least <= after <= most


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
