"""Each target is judged by its own figure."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cells import Cell
from benchmarks.contenders import OURS, TEXTBOOK
from benchmarks.runner import play
from benchmarks.tally import percentiles
from benchmarks.targets import NotMeasuredError, Target, targets
from benchmarks.workload import Workload
from tests.support.bench_builders import figures, requests, results_of

Which = Callable[[Cell], bool]


def calm(projects: int = 1, redelivered: float = 0.0) -> Which:
    """Accept a calm cell."""
    wanted = projects, redelivered
    return lambda cell: (
        cell.group == "calm"
        and (cell.workload.projects, cell.workload.redelivered) == wanted
    )


P99 = "p99 to announced at half the ceiling, by a calm batch's; {}"


def hot(contender: str, workers: int) -> Which:
    """Accept a hot project's cell, of any seed."""
    return lambda cell: (
        cell.group == "workers"
        and (cell.contender, cell.workload) == (contender, Workload(workers))
    )


def half(together: int) -> Which:
    """Accept half the ceiling, of messages that arrive together or one by one."""
    return lambda cell: cell.group == "half" and cell.workload.sent_together == together


def unmet(directory: Path, which: Which, **changes: Any) -> set[str]:
    """Return the targets that are missed when some figures are others."""
    found = {
        cell: replace(figure, **changes) if which(cell) else figure
        for cell, figure in figures().items()
    }
    judged = [*targets(results_of(directory, found))]
    assert len({each.name for each in judged}) == len(judged) == 15
    return {each.name for each in judged if not each.is_met}


class TestTarget:
    """A bound, and a figure."""

    @pytest.mark.parametrize(
        ("measured", "met"), [(1.4, True), (1.5, True), (1.500_4, True), (1.6, False)]
    )
    def test_target_is_met_up_to_its_bound_when_less_is_better(
        self, measured: float, *, met: bool
    ) -> None:
        """To the third digit: sums of fractions are not exact."""
        assert Target("t", 1.5, measured).is_met is met

    @pytest.mark.parametrize(
        ("measured", "met"), [(0.8, False), (0.85, True), (0.9, True)]
    )
    def test_target_is_met_from_its_bound_when_more_is_better(
        self, measured: float, *, met: bool
    ) -> None:
        """The bound itself is enough."""
        assert Target("t", 0.85, measured, at_least=True).is_met is met


class TestTargets:
    """What ours must reach."""

    def test_all_targets_are_met_when_the_figures_are_good(
        self, tmp_path: Path
    ) -> None:
        """A change of nothing misses nothing."""
        assert unmet(tmp_path, lambda _: False) == set()

    @pytest.mark.parametrize(
        ("which", "changes", "missed"),
        [
            (calm(), {"write_units": 18_900.0}, "write units a ticket, N = 1"),
            (
                hot(TEXTBOOK, 1),
                {"requests": requests(10, 9, 10, tickets=4500)},
                "requests a ticket, N = 1, by the textbook's",
            ),
            (
                calm(projects=10),
                {"batches": percentiles([0.03])},
                "wall time, ten projects in a batch by one",
            ),
            (
                calm(redelivered=1.0),
                {"requests": requests(1, 1, 2, tickets=4500, lookups=2)},
                "reads of a batch that was done before",
            ),
            (
                calm(redelivered=1.0),
                {"requests": requests(2, 1, 2, tickets=4500, lookups=1)},
                "reads of a batch that was done before",
            ),
            (
                calm(redelivered=1.0),
                {"write_units": 18_900.0},
                "write units a ticket of a batch that was done before",
            ),
            (
                calm(redelivered=1.0),
                {"requests": requests(1, 1, 3, tickets=4500, lookups=1)},
                "PublishBatch of a batch that was done before",
            ),
            (hot(OURS, 10), {"seconds": 11.0}, "share of the ceiling, N = 10"),
            (
                hot(OURS, 10),
                {"attempts": percentiles([1.0, 2.5])},
                "attempts a block, N = 10",
            ),
            (hot(OURS, 100), {"seconds": 13.0}, "share of the ceiling, N = 100"),
            (
                hot(OURS, 100),
                {"attempts": percentiles([3.1])},
                "attempts a block, N = 100",
            ),
            (
                hot(OURS, 100),
                {"failed": 1},
                "messages starved in an invocation, N = 100",
            ),
            (
                hot(OURS, 100),
                {"timeouts": 1},
                "messages starved in an invocation, N = 100",
            ),
            (
                hot(TEXTBOOK, 100),
                {"requests": requests(30, 30, 29, tickets=4500)},
                "textbook's requests by ours, N = 100",
            ),
            (
                half(10),
                {"waits": percentiles([0.21])},
                P99.format("batches of ten"),
            ),
            (
                half(1),
                {"waits": percentiles([0.21])},
                P99.format("one by one"),
            ),
        ],
    )
    def test_target_is_missed_alone_when_its_figure_is_beyond_it(
        self, tmp_path: Path, which: Which, changes: dict[str, Any], missed: str
    ) -> None:
        """Each figure decides on its own target."""
        assert unmet(tmp_path, which, **changes) == {missed}

    def test_both_targets_of_requests_are_missed_when_a_calm_batch_takes_four(
        self, tmp_path: Path
    ) -> None:
        """One is a number, the other a share of the textbook's."""
        four = requests(2, 1, 1, tickets=4500)
        assert unmet(tmp_path, calm(), requests=four) == {
            "requests a ticket, N = 1",
            "requests a ticket, N = 1, by the textbook's",
        }

    def test_calm_targets_are_met_when_the_model_plays_them(
        self, tmp_path: Path
    ) -> None:
        """Ours as it is, beside the textbook as it is."""
        textbook = hot(TEXTBOOK, 1)
        found = {
            cell: play(cell) if cell.group == "calm" or textbook(cell) else figure
            for cell, figure in figures().items()
        }
        assert all(each.is_met for each in targets(results_of(tmp_path, found)))

    def test_targets_are_refused_when_a_figure_is_missing(self, tmp_path: Path) -> None:
        """There is no verdict without the textbook."""
        ours = {
            cell: each for cell, each in figures().items() if cell.contender == OURS
        }
        with pytest.raises(NotMeasuredError):
            [*targets(results_of(tmp_path, ours))]
