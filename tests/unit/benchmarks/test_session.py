"""`ticketctl bench`: what it measures, shows and keeps."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cells import Cell, all_cells
from benchmarks.contenders import CONTENDERS, OURS, TEXTBOOK
from benchmarks.session import INTERRUPTED, Wishes, bench
from benchmarks.store import Results
from tests.support.bench_builders import figures, measurement, results_of
from ticketctl.cli.app import main
from ticketctl.cli.errors import ToolError

Done = Callable[[Cell], None]


def wishes(directory: Path, **wanted: Any) -> Wishes:
    """Return what somebody wants who says nothing in particular."""
    usual: dict[str, Any] = {
        "contenders": (),
        "full": False,
        "as_json": False,
        "out": directory / "out",
    }
    return Wishes(**usual | wanted)


def measure_nothing(*_: Any) -> None:
    """Find everything measured."""


class Measuring:
    """Measures at once; somebody may have enough after so many."""

    def __init__(self, patience: int = 10_000) -> None:
        """Be interrupted after so many."""
        self.measured: list[Cell] = []
        self._patience = patience

    def __call__(self, cells: Sequence[Cell], results: Results, done: Done) -> None:
        """Measure what is missing."""
        for cell in results.missing(cells):
            if len(self.measured) == self._patience:
                raise KeyboardInterrupt
            results.put(cell, measurement())
            self.measured.append(cell)
            done(cell)


class TestMeasuring:
    """Each figure once."""

    def test_only_the_missing_are_measured_when_some_are_known(
        self, tmp_path: Path
    ) -> None:
        """A second time there is nothing to do."""
        first, *others = all_cells()
        results = results_of(tmp_path, {first: measurement()})
        once, twice = Measuring(), Measuring()

        for measuring in (once, twice):
            assert bench(wishes(tmp_path, as_json=True), results, measuring) == 0

        assert once.measured == others
        assert twice.measured == []

    def test_one_contender_is_measured_when_it_alone_is_wanted(
        self, tmp_path: Path
    ) -> None:
        """The others are left alone."""
        measuring, wanted = Measuring(), wishes(tmp_path, contenders=[TEXTBOOK])

        assert bench(wanted, results_of(tmp_path, {}), measuring) == 0

        assert {each.contender for each in measuring.measured} == {TEXTBOOK}

    def test_measured_is_kept_when_somebody_interrupts(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """And the next run goes on where this one was."""
        status = bench(wishes(tmp_path), results_of(tmp_path, {}), Measuring(3))

        out, told = capsys.readouterr()
        assert status == INTERRUPTED == 130
        assert out == ""
        assert f"3 of {len(all_cells())} figures are kept" in told
        assert not (tmp_path / "out").exists()
        kept = Results.load(tmp_path, "measured-before")
        assert len(kept.missing(all_cells())) == len(all_cells()) - 3

    def test_bench_is_refused_when_the_contender_is_unknown(
        self, tmp_path: Path
    ) -> None:
        """Before anything is measured."""
        measuring = Measuring()
        wanted = wishes(tmp_path, contenders=[OURS, "theirs", "nobody's"])

        with pytest.raises(ToolError, match=r"nobody's, theirs: ours, textbook"):
            bench(wanted, results_of(tmp_path, {}), measuring)

        assert measuring.measured == []


class TestShowing:
    """For people, for documents and for scripts."""

    def test_figures_and_plots_are_written_when_all_is_measured(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The targets come first, on the terminal and in the file."""
        results = results_of(tmp_path, figures())

        assert bench(wishes(tmp_path), results, measure_nothing) == 0

        written = (tmp_path / "out" / "figures.md").read_text(encoding="utf-8")
        titles = [line for line in written.splitlines() if line.startswith("### ")]
        assert titles[0] == "### Targets"
        assert len(titles) > 8
        assert all(f"- {name}: " in written for name in CONTENDERS)
        assert len([*(tmp_path / "out").glob("*.svg")]) == 4
        assert "8 plots" in capsys.readouterr().out

    def test_targets_are_not_judged_when_a_contender_is_left_out(
        self, tmp_path: Path
    ) -> None:
        """They need the textbook's figures."""
        wanted = wishes(tmp_path, contenders=[OURS])

        assert bench(wanted, results_of(tmp_path, {}), Measuring()) == 0

        written = (tmp_path / "out" / "figures.md").read_text(encoding="utf-8")
        assert "Targets" not in written
        assert "### One hot project" in written

    def test_json_has_every_figure_when_a_script_asks(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """And nothing else is printed or written."""
        found = figures()

        status = bench(
            wishes(tmp_path, as_json=True), results_of(tmp_path, found), measure_nothing
        )

        parsed = json.loads(capsys.readouterr().out)
        assert status == 0
        assert len(parsed) == len(found)
        assert {each["cell"]["contender"] for each in parsed} == {*CONTENDERS}
        assert parsed[0]["measurement"]["write_units"] == 18_000.0
        assert not (tmp_path / "out").exists()


def test_command_says_it_in_one_line_when_the_contender_is_unknown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a traceback, and with a status that scripts can tell."""
    with pytest.raises(SystemExit) as ended:
        main(["bench", "--contender", "nobody"])

    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert said.err == f"error: no contender nobody: {', '.join(CONTENDERS)}\n"
