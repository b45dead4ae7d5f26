"""What a crowd costs: the benchmark's target for the default of ten workers."""

from benchmarks.cells import NO_OVERHEAD, hot
from benchmarks.contenders import OURS
from benchmarks.model_run import CEILING, play


class TestCrowd:
    """Ten workers, one hot project; docs/performance.md has the rest."""

    def test_ten_workers_come_near_the_ceiling_when_all_want_one_project(self) -> None:
        """With few writes in vain, and nobody left behind."""
        found = play(OURS, hot(10, NO_OVERHEAD), seed=1)

        assert found.tickets_a_second >= 0.85 * CEILING
        assert found.attempts <= 1.5
        assert (found.starved, found.duplicates) == (0, 0)
