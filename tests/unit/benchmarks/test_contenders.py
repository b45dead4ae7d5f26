"""The contenders on the model: what a ticket of each costs, and who numbers it once."""

from dataclasses import replace
from itertools import islice

import pytest

from benchmarks.cells import CALM, TWICE
from benchmarks.contenders import CONTENDERS, OURS, TEXTBOOK
from benchmarks.counting import Figures, Meter
from benchmarks.model_run import play
from benchmarks.profiles import MEASURED
from benchmarks.queues import NOISY_IN_FLIGHT, CountedFairQueue
from benchmarks.workloads import HOT, Workload, overhead_of
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


class TestWorkload:
    """Options of a workload do to the run what they say."""

    def test_batches_take_longer_when_there_is_overhead(self) -> None:
        calm = replace(CALM, rate=2.0)

        slowed = played(OURS, replace(calm, has_overhead=True))

        added = slowed.batch_seconds - played(OURS, calm).batch_seconds
        assert added == pytest.approx(overhead_of(10), abs=0.01)

    def test_first_batch_takes_longer_when_its_worker_starts_cold(self) -> None:
        burst = Workload(1, burst=10)

        slowed = played(OURS, replace(burst, cold_start=(2.0, 3.0)))

        assert 2.0 <= slowed.p99 - played(OURS, burst).p99 <= 3.5

    def test_first_project_gets_its_share_when_projects_have_weights(self) -> None:
        bodies = Workload(projects=len(HOT), weights=HOT).bodies(Choices(1))

        projects = [project for project, _ in islice(bodies, 1_000)]

        assert 250 < projects.count("P0") < 350
        assert len(set(projects)) > 300

    def test_tickets_cost_more_when_they_are_as_long_as_in_jira(self) -> None:
        """4.9 units, by the sizes that were measured."""
        found = played(OURS, replace(CALM, rate=300.0, has_real_texts=True))

        assert 4.5 < found.write_units < 5.3

    def test_batches_are_fuller_when_there_is_a_window(self) -> None:
        singly = Workload(workers=2, rate=50.0)

        assert played(OURS, singly).batches > 0.5
        assert played(OURS, replace(singly, window=1.0)).batches < 0.15


class TestFairQueue:
    """SQS developer guide, "How Amazon SQS fair queues work"."""

    @pytest.fixture
    def queue(self) -> CountedFairQueue:
        choices = Choices(1)
        scheduler = Scheduler(choices)
        return CountedFairQueue("q", choices, scheduler, meter=Meter(scheduler))

    def send(self, queue: CountedFairQueue, group: str, count: int) -> None:
        for _ in range(count):
            queue.send('{"idempotency_key": "k"}', group=group)

    def next_group(self, queue: CountedFairQueue) -> str | None:
        [message] = queue.receive(1)
        return message.group

    def test_quiet_group_comes_first_when_another_took_the_time(
        self, queue: CountedFairQueue
    ) -> None:
        self.send(queue, "noisy", 99)
        [message] = queue.receive(1)
        queue.scheduler.now += 1.0
        queue.delete(message.id)
        self.send(queue, "quiet", 1)

        assert self.next_group(queue) == "quiet"
        assert self.next_group(queue) == "noisy"

    def test_quiet_group_comes_first_when_another_has_many_messages_in_flight(
        self, queue: CountedFairQueue
    ) -> None:
        self.send(queue, "noisy", NOISY_IN_FLIGHT + 99)
        queue.receive(NOISY_IN_FLIGHT)
        self.send(queue, "quiet", 1)

        assert self.next_group(queue) == "quiet"

    def test_noisy_group_with_the_fewest_messages_in_flight_comes_first(
        self, queue: CountedFairQueue
    ) -> None:
        self.send(queue, "fewer", NOISY_IN_FLIGHT)
        queue.receive(NOISY_IN_FLIGHT)
        self.send(queue, "more", NOISY_IN_FLIGHT + 99)
        queue.receive(NOISY_IN_FLIGHT + 9)
        self.send(queue, "fewer", 1)

        assert self.next_group(queue) == "fewer"
