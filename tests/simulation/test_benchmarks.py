"""`python -m benchmarks`: the command measures, reports and draws."""

from pathlib import Path

from typer.testing import CliRunner

from benchmarks.__main__ import app


class TestBenchmarks:
    """Every cell, in runs too short to say anything."""

    def test_page_and_plots_are_written_when_a_directory_is_named(
        self, tmp_path: Path
    ) -> None:
        """The page is what the terminal shows."""
        options = ["--seeds", "1", "--scale", "0.05", "--out", str(tmp_path)]

        result = CliRunner().invoke(app, options)

        assert result.exit_code == 0, result.output
        page = (tmp_path / "figures.md").read_text(encoding="utf-8")
        assert page in result.output
        assert {"## Targets", "## Dollars for a million tickets"} < {*page.splitlines()}
        assert {file.suffix for file in tmp_path.iterdir()} == {".md", ".svg"}
