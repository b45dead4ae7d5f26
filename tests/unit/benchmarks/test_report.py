"""The tables that the figures are shown in."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.cells import EMULATOR, Cell
from benchmarks.contenders import OURS, TEXTBOOK
from benchmarks.report import COLUMNS, WIDE, Grid, grids, target_grid
from benchmarks.tally import percentiles
from benchmarks.targets import NotMeasuredError
from benchmarks.workload import Workload
from tests.support.bench_builders import cell, figures, measurement, results_of

HALF = Cell("half", OURS, Workload(rate=250.0))
GRID = Grid("Some figures", ("contender", "tickets"), [("ours", "7"), ("else", "8")])


def shown(grid: Grid, width: int = 200) -> str:
    """Return what a terminal shows of a table."""
    text = StringIO()
    grid.show(Console(file=text, width=width))
    return text.getvalue()


def row(directory: Path, of: Cell, **members: object) -> dict[str, str]:
    """Return the one row of a cell's figure, by column."""
    results = results_of(directory, {of: measurement(**members)})
    [grid] = grids(results, [of])
    [only] = grid.rows
    return dict(zip(grid.columns, only, strict=True))


class TestGrids:
    """A table for each purpose."""

    def test_rows_stand_by_purpose_when_cells_have_several(
        self, tmp_path: Path
    ) -> None:
        """In the order of the cells."""
        ours, textbook = cell(OURS), cell(TEXTBOOK)
        calm = Cell("calm", OURS, Workload(rate=10.0))
        results = results_of(
            tmp_path, dict.fromkeys((ours, textbook, calm), measurement())
        )

        first, second = grids(results, [ours, calm, textbook])

        assert [each[0] for each in first.rows] == [OURS, TEXTBOOK]
        assert len(second.rows) == 1
        assert first.title != second.title

    def test_cell_has_no_row_when_it_is_not_measured(self, tmp_path: Path) -> None:
        """And a purpose no table."""
        results = results_of(tmp_path, {cell(OURS): measurement()})

        [grid] = grids(results, [cell(OURS), cell(TEXTBOOK), HALF])

        assert [each[0] for each in grid.rows] == [OURS]

    def test_every_cell_has_a_table_when_all_are_measured(self, tmp_path: Path) -> None:
        """No purpose is without a title, and no row too short."""
        found = figures()
        tables = [*grids(results_of(tmp_path, found), found)]
        assert sum(len(each.rows) for each in tables) == len(found)
        assert all(len(each) == len(COLUMNS) for grid in tables for each in grid.rows)

    def test_row_has_the_figures_when_shown(self, tmp_path: Path) -> None:
        """Rounded to what can be told apart."""
        found = row(tmp_path, cell(), gaps=2, duplicates=3, failed=4, redelivered=5)
        assert found == {
            "contender": "ours",
            "workload": "one project, batch 10, N = 1",
            "tickets": "4500",
            "gaps": "2",
            "dupl.": "3",
            "req.": "0.30",
            "write u.": "4.00",
            "read u.": "0.10",
            "attempts": "1.0 / 1.0 / 1.0 / 1.0",
            "wait, s": "0.020 / 0.020",
            "tickets/s": "450",
            "redel.": "5",
            "failed": "4",
        }

    def test_row_has_no_figure_when_there_is_none(self, tmp_path: Path) -> None:
        """Seconds of the emulator are none of DynamoDB's."""
        found = row(tmp_path, cell(place=EMULATOR), waits={}, attempts={})
        assert found["tickets/s"] == "-"
        assert found["wait, s"] == "-"
        assert found["attempts"] == "-"

    @pytest.mark.parametrize(
        ("workload", "seed", "ending"),
        [
            (Workload(redelivered=0.01), 1, "N = 10, 1% redelivered"),
            (Workload(rate=250.0, sent_together=10), 1, "N = 10, 250/s by 10"),
            (Workload(rate=2.5), 1, "N = 10, 2.5/s"),
            (Workload(is_in_turn=True), 1, "N = 10, one of each a batch"),
            (Workload(), 3, "N = 10, seed 3"),
        ],
    )
    def test_workload_is_named_in_full_when_it_is_special(
        self, tmp_path: Path, workload: Workload, seed: int, ending: str
    ) -> None:
        """So that no two rows look the same."""
        of = Cell("half", OURS, workload, seed=seed)
        assert row(tmp_path, of)["workload"].endswith(ending)


class TestFormats:
    """One table, for people and for a document."""

    def test_markdown_is_a_table_when_asked_for(self) -> None:
        """Under its title."""
        assert GRID.markdown() == (
            "### Some figures\n\n"
            "| contender | tickets |\n| --- | --- |\n| ours | 7 |\n| else | 8 |\n"
        )

    def test_terminal_has_the_rows_when_shown(self) -> None:
        """But not what a narrow one has no room for."""
        text = shown(GRID)
        assert all(each in text for each in ("Some figures", "contender", "ours"))
        assert "tickets" not in text
        assert "7" not in text
        assert {*COLUMNS} > WIDE


class TestTargetGrid:
    """What must be reached, and whether it is."""

    def test_every_target_has_its_verdict_when_all_is_measured(
        self, tmp_path: Path
    ) -> None:
        """The bound beside the figure."""
        found = figures()
        slow = Cell("calm", OURS, Workload(1, rate=10.0, sent_together=10))
        [calm] = [each for each in found if each.workload == slow.workload]
        found[calm] = measurement(write_units=4.5 * 4500)

        rows = target_grid(results_of(tmp_path, found)).rows

        assert len(rows) == 15
        assert [each for each in rows if each[3] != "met"] == [
            ("write units a ticket, N = 1", "at most 4", "4.5", "NOT MET")
        ]
        assert any(each[1] == "at least 0.85" for each in rows)

    def test_verdict_is_shown_when_a_target_is_missed(self, tmp_path: Path) -> None:
        """On the terminal too."""
        found = figures()
        for each in found:
            if each.group == "half":
                found[each] = measurement(waits=percentiles([9.0]))

        assert "NOT MET" in shown(target_grid(results_of(tmp_path, found)))

    def test_grid_is_refused_when_a_figure_is_missing(self, tmp_path: Path) -> None:
        """There is no verdict on half of the figures."""
        found = figures()
        del found[next(each for each in found if each.group == "half")]
        with pytest.raises(NotMeasuredError):
            target_grid(results_of(tmp_path, found))
