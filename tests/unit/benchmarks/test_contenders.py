"""The contenders at work on the model: what each costs, and who numbers right."""

from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.cells import Cell
from benchmarks.contenders import CONTENDERS, OURS, TEXTBOOK
from benchmarks.measurement import Measurement
from benchmarks.runner import play
from benchmarks.workload import Limits, Workload

OTHERS = tuple(name for name in CONTENDERS if name != OURS)
TINY = Limits(0.2, seconds=1.0, requests=400)
CALM = Limits(0.0, seconds=200.0)

# By operation, for a ticket that nobody was in the way of; and the write units.
COSTS: Mapping[str, tuple[Mapping[str, float], float]] = {
    OURS: ({"query": 0.1, "transact_write_items": 0.1, "publish_batch": 0.1}, 4.0),
    TEXTBOOK: ({"query": 1, "put_item": 1, "publish_batch": 1}, 1.0),
    "locked-counter": (
        {"get_item": 1, "transact_write_items": 1, "publish_batch": 1},
        4.0,
    ),
    "add-counter": ({"update_item": 1, "put_item": 1, "publish_batch": 1}, 2.0),
    "powertools": (
        {"put_item": 2, "query": 1, "update_item": 1, "publish_batch": 1},
        3.0,
    ),
}


def played(
    contender: str, limits: Limits = TINY, seed: int = 1, **workload: Any
) -> Measurement:
    """Play a short run."""
    return play(Cell("", contender, Workload(**workload), limits, seed=seed))


def calm(contender: str, **workload: Any) -> Measurement:
    """Play a run in which ten messages at a time arrive far apart."""
    return played(contender, CALM, workers=1, rate=1.0, sent_together=10, **workload)


class TestUndisturbed:
    """One worker, nobody in its way."""

    @pytest.mark.parametrize("contender", CONTENDERS)
    def test_requests_and_units_are_the_algorithm_s_when_nobody_contends(
        self, contender: str
    ) -> None:
        """No more and no less than its source says."""
        found, (requests, units) = calm(contender), COSTS[contender]

        assert found.tickets >= 100
        assert (found.gaps, found.duplicates) == (0, 0)
        assert {
            name: count / found.tickets for name, count in found.requests.items()
        } == pytest.approx(requests)
        assert found.write_units_a_ticket == units
        assert found.attempts["max"] == 1

    @pytest.mark.parametrize("contender", CONTENDERS)
    def test_numbers_have_no_gap_when_a_worker_is_busy(self, contender: str) -> None:
        """Batch after batch, without a pause."""
        found = played(contender, workers=1)

        assert found.tickets > 30
        assert (found.gaps, found.duplicates, found.failed) == (0, 0, 0)

    def test_ours_reads_nothing_when_batches_follow_at_once(self) -> None:
        """It knows the number after its last; two requests for ten tickets."""
        found = played(OURS, workers=1)

        assert found.requests_a_ticket == pytest.approx(0.2, rel=0.05)
        assert "query" not in found.requests

    def test_ours_writes_a_block_a_project_when_a_batch_has_ten(self) -> None:
        """And announces them together."""
        found = calm(OURS, projects=10, is_in_turn=True)

        assert found.requests["transact_write_items"] == found.tickets
        assert found.requests["publish_batch"] == found.tickets / 10
        assert (found.gaps, found.write_units_a_ticket) == (0, 4.0)


class TestRedelivered:
    """Messages come again after they were done."""

    def test_batch_costs_a_read_and_no_write_when_ours_had_done_it(self) -> None:
        """And its announcement once more."""
        found = calm(OURS, redelivered=1.0)

        assert found.redelivered == found.tickets
        assert found.requests["batch_get_item"] == found.redelivered / 10
        assert found.requests["publish_batch"] == 2 * found.tickets / 10
        assert found.requests["transact_write_items"] == found.tickets / 10
        assert found.requests["query"] <= found.tickets / 10
        assert found.write_units == 4.0 * found.tickets
        assert found.duplicates == 0

    @pytest.mark.parametrize("contender", [OURS, "powertools"])
    def test_request_has_one_number_when_keys_are_remembered(
        self, contender: str
    ) -> None:
        """However often it comes."""
        found = calm(contender, redelivered=0.5)

        assert found.redelivered > 50
        assert (found.gaps, found.duplicates) == (0, 0)

    @pytest.mark.parametrize("contender", [TEXTBOOK, "locked-counter", "add-counter"])
    def test_request_has_two_numbers_when_nobody_remembers_it(
        self, contender: str
    ) -> None:
        """The textbook's duplicates."""
        found = calm(contender, redelivered=0.5)

        assert found.gaps == 0
        assert found.duplicates == found.redelivered > 50


class TestContention:
    """Workers in each other's way."""

    def test_textbook_tries_often_when_five_contend(self) -> None:
        """Each number costs about half of them a write."""
        found = played(TEXTBOOK, workers=5)

        assert found.attempts["mean"] > 2
        assert found.write_units_a_ticket > 2

    @pytest.mark.parametrize("contender", CONTENDERS)
    def test_numbers_have_no_gap_when_five_contend(self, contender: str) -> None:
        """All of them number right as long as nothing goes wrong."""
        found = played(contender, workers=5)

        assert (found.gaps, found.duplicates) == (0, 0)

    def test_ours_is_right_when_twenty_contend(self) -> None:
        """And makes less than a request a ticket."""
        found = played(OURS, workers=20, redelivered=0.1)

        assert (found.gaps, found.duplicates) == (0, 0)
        assert found.requests_a_ticket < 1

    def test_nothing_is_tried_twice_when_the_queue_is_fifo(self) -> None:
        """A project's batches follow each other."""
        found = played(OURS, workers=5, is_fifo=True)

        assert found.tickets > 100
        assert (found.gaps, found.duplicates) == (0, 0)
        assert (found.attempts["mean"], found.attempts["max"]) == (1.0, 1)


class TestSeeds:
    """A seed is all that it takes to measure the same again."""

    @pytest.mark.parametrize("contender", CONTENDERS)
    def test_figures_are_the_same_when_the_seed_is(self, contender: str) -> None:
        """All of them; and others with another seed."""
        short = Limits(0.1, seconds=0.5, requests=200)
        first, second, other = (
            played(contender, short, seed, workers=3, redelivered=0.2)
            for seed in (1, 1, 2)
        )

        assert first == second
        assert first != other


class TestLimits:
    """Every run comes to its end."""

    def test_run_ends_at_its_time_when_requests_are_few(self) -> None:
        """What is in flight is given a moment."""
        found = played("add-counter", Limits(0.5, seconds=0.75), workers=1)
        assert found.seconds == pytest.approx(0.75)

    def test_run_ends_at_its_requests_when_they_come_first(self) -> None:
        """As soon as somebody looks."""
        found = played("add-counter", Limits(0.2, seconds=60.0, requests=100))
        assert found.seconds < 1
        assert 90 < sum(found.requests.values()) < 200

    def test_warm_up_ends_at_its_requests_when_they_come_first(self) -> None:
        """Or many workers would warm up for ever."""
        found = played("add-counter", Limits(1e6, 100, seconds=0.1))
        assert found.seconds == pytest.approx(0.1)

    def test_run_ends_when_a_loop_has_no_end_of_its_own(self) -> None:
        """Fifty who read and write again at once get nowhere."""
        limits = Limits(0.0, seconds=3_600.0, requests=400)
        found = played("locked-counter", limits, workers=50)
        assert found.seconds < 10
        assert found.requests_a_ticket > 50

    def test_messages_come_at_their_rate_when_they_have_one(self) -> None:
        """As far as chance has it."""
        found = played(OURS, Limits(seconds=20.0), workers=2, rate=50.0)
        assert found.tickets_a_second == pytest.approx(50.0, rel=0.15)

    def test_workers_come_one_by_one_when_lambda_adds_them(self) -> None:
        """Five at once, and the others in time."""
        together = Limits(0.0, seconds=0.5)
        at_once = played("add-counter", together)
        slowly = played("add-counter", Limits(0.0, seconds=0.5, workers_a_second=0.1))
        assert slowly.tickets == pytest.approx(at_once.tickets / 2, rel=0.1)
