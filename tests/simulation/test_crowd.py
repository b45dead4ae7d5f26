"""What a crowd costs: the benchmark's target for the default of ten workers."""

from benchmarks.cells import Cell, limits_of
from benchmarks.contenders import OURS
from benchmarks.model import CEILING
from benchmarks.runner import play
from benchmarks.workload import Workload


class TestCrowd:
    """Ten workers, one hot project; docs/performance.md has the rest."""

    def test_ten_workers_come_near_the_ceiling_when_all_want_one_project(self) -> None:
        """With few writes in vain, and nobody left behind."""
        found = play(Cell("", OURS, Workload(10), limits_of(OURS, 10)))

        assert found.tickets_a_second >= 0.85 * CEILING
        assert found.attempts["mean"] <= 1.5
        assert found.failed == 0
