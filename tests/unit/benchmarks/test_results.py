"""Figures are kept as soon as they are there, and found again by the same code."""

import os
from dataclasses import replace
from pathlib import Path

from benchmarks.contenders import OURS, TEXTBOOK
from benchmarks.runner import play, run
from benchmarks.store import SOURCES, VIEWS, Results, digest
from benchmarks.workload import Limits
from tests.support.bench_builders import cell, measurement

ONE, TWO, THREE = (cell(workers=each) for each in (1, 2, 3))
TINY = Limits(0.1, seconds=0.3, requests=200)


class TestKeeping:
    """What was measured once is not measured again."""

    def test_figure_is_read_again_when_another_looks(self, tmp_path: Path) -> None:
        """At once: there is nothing to close."""
        Results.load(tmp_path, "code").put(ONE, measurement(tickets=7))

        found = Results.load(tmp_path, "code").get(ONE)

        assert found == measurement(tickets=7)

    def test_figure_is_found_when_it_was_just_put(self, tmp_path: Path) -> None:
        """By the same object too."""
        results = Results.load(tmp_path / "new" / "directory", "code")
        assert results.get(ONE) is None

        results.put(ONE, measurement())

        assert results.get(ONE) == measurement()

    def test_latest_figure_counts_when_there_are_two(self, tmp_path: Path) -> None:
        """Whoever reads."""
        results = Results.load(tmp_path, "code")
        results.put(ONE, measurement(tickets=1))
        results.put(ONE, measurement(tickets=2))

        for each in (results, Results.load(tmp_path, "code")):
            assert each.get(ONE) == measurement(tickets=2)

    def test_missing_are_those_without_a_figure_when_asked(
        self, tmp_path: Path
    ) -> None:
        """In the order asked."""
        results = Results.load(tmp_path, "code")
        results.put(TWO, measurement())
        assert results.missing([THREE, TWO, ONE]) == [THREE, ONE]

    def test_figure_is_the_same_when_the_purpose_is_another(
        self, tmp_path: Path
    ) -> None:
        """What it is measured for does not change it; anything else does."""
        results = Results.load(tmp_path, "code")
        results.put(ONE, measurement())
        assert results.get(replace(ONE, group="everything")) == measurement()
        assert results.get(replace(ONE, seed=2)) is None
        assert results.get(replace(ONE, contender=TEXTBOOK)) is None


class TestInterruption:
    """A figure that was being written is lost, and no other."""

    def test_half_a_line_is_ignored_when_somebody_reads(self, tmp_path: Path) -> None:
        """The figures before it are there."""
        self._interrupt(tmp_path)

        results = Results.load(tmp_path, "code")

        assert results.get(ONE) == measurement()
        assert results.missing([ONE, TWO, THREE]) == [TWO, THREE]

    def test_figures_are_kept_when_the_line_before_is_half_a_line(
        self, tmp_path: Path
    ) -> None:
        """The next run goes on in the same file."""
        self._interrupt(tmp_path)
        Results.load(tmp_path, "code").put(TWO, measurement(tickets=2))
        Results.load(tmp_path, "code").put(THREE, measurement(tickets=3))

        results = Results.load(tmp_path, "code")

        assert results.missing([ONE, TWO, THREE]) == []
        assert results.get(TWO) == measurement(tickets=2)

    @staticmethod
    def _interrupt(directory: Path) -> None:
        """Write down a figure, and a half of another."""
        results = Results.load(directory, "code")
        results.put(ONE, measurement())
        whole = results.path.stat().st_size
        results.put(TWO, measurement())
        os.truncate(results.path, whole + (results.path.stat().st_size - whole) // 2)


class TestCode:
    """Other code, other figures."""

    def test_figures_are_not_found_when_the_code_is_another(
        self, tmp_path: Path
    ) -> None:
        """And found again when it is as it was."""
        Results.load(tmp_path, "code").put(ONE, measurement())
        assert Results.load(tmp_path, "other-code").get(ONE) is None
        assert Results.load(tmp_path, "code").get(ONE) == measurement()

    def test_results_are_of_the_code_as_it_is_when_none_is_named(
        self, tmp_path: Path
    ) -> None:
        """Its digest is the file's name, and the same each time."""
        assert Results.load(tmp_path).path.stem == digest() == digest()

    def test_code_is_everything_that_makes_figures_when_digested(self) -> None:
        """What only shows them is left out, and the tests of the model are."""
        assert "benchmarks" in SOURCES
        assert {"report", "plots", "session", "targets", "test_"} <= {*VIEWS}
        assert not any("model".startswith(each) for each in VIEWS)


def test_run_measures_what_is_missing_when_something_is_known(tmp_path: Path) -> None:
    """In processes of its own, which come to the same as one."""
    wanted = [cell(OURS, 2, limits=TINY), cell(TEXTBOOK, 2, limits=TINY)]
    known = cell(TEXTBOOK, 100)
    results = Results.load(tmp_path, "code")
    results.put(known, measurement(tickets=-1))
    told: list[object] = []

    run([known, *wanted], results, told.append)

    assert sorted(map(str, told)) == sorted(map(str, wanted))
    assert results.get(known) == measurement(tickets=-1)
    for each in wanted:
        assert Results.load(tmp_path, "code").get(each) == play(each)
