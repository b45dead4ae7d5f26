"""`python -m benchmarks`, and the targets of contention for one seed."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import app
from benchmarks.cells import FIFO, RECOMMENDED, STEP, hot
from benchmarks.claims import CLAIMS
from benchmarks.contenders import HALF, LINE, OURS
from benchmarks.model_run import play
from benchmarks.plots import PLOTS
from benchmarks.profiles import MEASURED
from benchmarks.workloads import Workload


class TestBenchmarks:
    """Every cell, in runs too short to say anything."""

    def test_tables_are_printed_and_plots_drawn_when_the_command_runs(
        self, tmp_path: Path
    ) -> None:
        options = ["--seeds", "1", "--scale", "0.05", "--plots", str(tmp_path)]
        options += ["--profile", "fast"]

        result = CliRunner().invoke(app, options)

        assert result.exit_code == 0, result.output
        titles = {f"## {claim.title}" for claim in CLAIMS}
        assert f"runs: {STEP} of " in result.stderr
        assert titles < {*result.output.splitlines()}
        assert {file.stem for file in tmp_path.glob("*.svg")} == PLOTS.keys()


class TestContention:
    """Workers on one hot project, with measured times and Lambda's own."""

    @pytest.mark.parametrize(
        ("contender", "workload", "tickets_a_second", "write_units"),
        [
            (OURS, RECOMMENDED, 420, 4.8),
            (OURS, FIFO, 145, 4.05),
            (OURS, hot(10), 170, 8.5),
            (LINE, hot(10), 260, 4.3),
            (HALF, hot(10), 180, 7.5),
        ],
    )
    def test_project_is_numbered_at_its_rate_when_more_arrives(
        self,
        contender: str,
        workload: Workload,
        tickets_a_second: float,
        write_units: float,
    ) -> None:
        """With few attempts in vain, and without a message that starves."""
        figures = play(contender, workload, MEASURED, seed=1)

        assert tickets_a_second <= figures.tickets_a_second <= 1.05 * figures.bound
        assert figures.write_units <= write_units
        assert (figures.starved, figures.duplicates) == (0, 0)
