"""`python -m benchmarks`, and the targets of contention for one seed."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import app
from benchmarks.cells import STEP, hot
from benchmarks.claims import CLAIMS
from benchmarks.contenders import OURS
from benchmarks.model_run import CEILING, play
from benchmarks.plots import PLOTS


class TestBenchmarks:
    """Every cell, in runs too short to say anything."""

    def test_tables_are_printed_and_plots_drawn_when_the_command_runs(
        self, tmp_path: Path
    ) -> None:
        options = ["--seeds", "1", "--scale", "0.05", "--plots", str(tmp_path)]

        result = CliRunner().invoke(app, options)

        assert result.exit_code == 0, result.output
        titles = {f"## {claim.title}" for claim in CLAIMS}
        assert f"runs: {STEP} of " in result.stderr
        assert titles < {*result.output.splitlines()}
        assert {file.stem for file in tmp_path.glob("*.svg")} == PLOTS.keys()


class TestContention:
    """Workers on one hot project, with Lambda's own time."""

    @pytest.mark.parametrize(
        ("workers", "share", "attempts"), [(2, 0.85, 1.1), (10, 0.80, 1.6)]
    )
    def test_workers_come_near_the_ceiling_when_all_write_to_one_project(
        self, workers: int, share: float, attempts: float
    ) -> None:
        """With few attempts in vain, and without a message that starves."""
        found = play(OURS, hot(workers), seed=1)

        assert found.tickets_a_second >= share * CEILING
        assert found.attempts <= attempts
        assert (found.starved, found.duplicates) == (0, 0)
