"""`python -m benchmarks`: the command measures, reports and draws."""

from pathlib import Path

from typer.testing import CliRunner

from benchmarks.__main__ import app
from benchmarks.claims import CLAIMS
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
        assert titles < {*result.output.splitlines()}
        assert {file.stem for file in tmp_path.glob("*.svg")} == PLOTS.keys()
