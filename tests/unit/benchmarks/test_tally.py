"""What is counted of a contender, and what the counts are summed up to."""

from collections import Counter
from dataclasses import fields

import pytest

from benchmarks.measurement import Measurement
from benchmarks.tally import Tally, gaps_and_duplicates, percentiles
from benchmarks.timing import timed
from tests.support.bench_builders import measurement


def tally(of: int) -> Tally:
    """Return a tally that has counted so many of everything."""
    return Tally(
        requests=Counter(query=of, put_item=of),
        write_units=2.0 * of,
        read_units=0.5 * of,
        tickets=of,
        attempts=[1.0] * of,
        waits=[0.1] * of,
        batches=[0.2] * of,
        failed=of,
        redelivered=of,
        timeouts=of,
    )


def count_more(of: Tally) -> None:
    """Count one more of everything, in place where that is possible."""
    for each in fields(of):
        value = getattr(of, each.name)
        if isinstance(value, Counter):
            value["query"] += 1
        elif isinstance(value, list):
            value.append(1.0)
        else:
            setattr(of, each.name, value + 1)


class TestTally:
    """The counts of a moment are those of that moment."""

    def test_snapshot_stays_when_more_is_counted(self) -> None:
        """No later count reaches what was taken down."""
        counted = tally(3)
        snapshot = counted.snapshot()

        count_more(counted)

        assert snapshot == tally(3)
        assert all(
            getattr(counted, each.name) != getattr(snapshot, each.name)
            for each in fields(Tally)
        )

    def test_since_has_only_the_new_when_a_run_goes_on(self) -> None:
        """The warm-up is left out of every count."""
        assert tally(5).since(tally(2)) == tally(3)

    def test_since_is_empty_when_nothing_was_counted_in_between(self) -> None:
        """An operation that was not called again is no operation of the time."""
        assert tally(2).since(tally(2)) == Tally()

    def test_add_sums_everything_when_two_workers_counted(self) -> None:
        """What one did not call is not lost."""
        total = Tally(requests=Counter(publish_batch=1))

        total.add(tally(2))
        total.add(tally(3))

        assert total.requests == Counter(query=5, put_item=5, publish_batch=1)
        assert total.since(Tally(requests=Counter(publish_batch=1))) == tally(5)

    def test_add_leaves_the_other_alone_when_more_is_counted(self) -> None:
        """The sum shares nothing with its parts."""
        total, part = Tally(), tally(2)
        total.add(part)

        count_more(total)

        assert part == tally(2)


class TestPercentiles:
    """A few figures stand for many."""

    def test_percentiles_are_nothing_when_there_are_no_values(self) -> None:
        """There is no maximum of nothing."""
        assert percentiles([]) == {}

    def test_percentiles_are_the_value_when_there_is_one(self) -> None:
        """All of them."""
        expected = dict.fromkeys(("p50", "p90", "p99", "max", "mean"), 2.0)
        assert percentiles([2.0]) == expected

    def test_percentiles_are_by_rank_when_values_come_in_any_order(self) -> None:
        """The 50th, the 90th and the 99th of a hundred, after the least."""
        found = percentiles([float(each) for each in range(100, -1, -1)])
        assert found == {"p50": 50, "p90": 90, "p99": 99, "max": 100, "mean": 50}

    def test_mean_is_not_the_median_when_one_value_is_far_off(self) -> None:
        """The maximum shows it too."""
        found = percentiles([1.0, 1.0, 1.0, 1.0, 96.0])
        assert (found["p50"], found["max"], found["mean"]) == (1.0, 96.0, 20.0)


class TestGapsAndDuplicates:
    """Wrong numbers are counted, whoever gave them."""

    @pytest.mark.parametrize(
        ("tickets", "expected"),
        [
            ([], (0, 0)),
            ([("A", 1, "a"), ("A", 2, "b"), ("B", 1, "a")], (0, 0)),
            ([("A", 2, "b"), ("A", 1, "a")], (0, 0)),
            ([("A", 1, "a"), ("A", 4, "b")], (2, 0)),
            ([("A", 2, "a")], (1, 0)),
            ([("A", 1, "a"), ("A", 2, "a"), ("A", 3, "a")], (0, 2)),
            ([("A", 1, "a"), ("B", 3, "a"), ("B", 4, "a")], (2, 1)),
        ],
        ids=["none", "right", "any order", "two", "first", "thrice", "both"],
    )
    def test_gaps_and_duplicates_are_counted_by_project_when_there_are_some(
        self, tickets: list[tuple[str, int, str]], expected: tuple[int, int]
    ) -> None:
        """A key is a request of its project alone."""
        assert gaps_and_duplicates(tickets) == expected


class TestMeasurement:
    """A tally becomes figures."""

    def test_measurement_has_the_tally_when_a_run_is_summed_up(self) -> None:
        """And the wrong numbers since the beginning."""
        found = Measurement.of(tally(4), 2.0, [("A", 1, "a"), ("A", 3, "a")])

        assert found.requests == {"query": 4, "put_item": 4}
        assert (found.gaps, found.duplicates) == (1, 1)
        assert (found.failed, found.redelivered, found.timeouts) == (4, 4, 4)
        assert found.attempts["max"] == 1.0
        assert found.waits["p50"] == 0.1
        assert found.batches["p50"] == 0.2

    def test_figures_are_by_ticket_and_second_when_tickets_were_written(self) -> None:
        """Of all operations together."""
        found = Measurement.of(tally(4), 2.0, [])

        assert found.requests_a_ticket == 2.0
        assert found.write_units_a_ticket == 2.0
        assert found.read_units_a_ticket == 0.5
        assert found.tickets_a_second == 2.0

    def test_figures_are_finite_when_there_is_neither_ticket_nor_time(self) -> None:
        """A run that came to nothing can be shown too."""
        found = Measurement.of(Tally(), 0.0, [])

        assert found.requests_a_ticket == 0.0
        assert found.tickets_a_second == 0.0

    def test_measurement_is_the_same_when_it_was_written_down(self) -> None:
        """Nothing is lost on the way."""
        assert Measurement(**measurement().to_json()) == measurement()


def test_invocation_is_timed_when_a_handler_is_called() -> None:
    """And what goes back to the queue is counted."""
    times = iter([10.0, 12.5])
    counted, answer = Tally(), {"batchItemFailures": [{"itemIdentifier": "m"}]}

    found = timed(lambda *_: answer, lambda: next(times), counted)({}, None)

    assert found is answer
    assert (counted.batches, counted.failed) == ([2.5], 1)
