"""`python -m benchmarks.function`: its line for a target."""

import pytest

from benchmarks.function import verdict


class TestFunction:
    """The script that measures the function itself."""

    @pytest.mark.parametrize(("measured", "end"), [(1.6, "met"), (1.7, "NOT MET")])
    def test_line_tells_whether_the_target_is_met(
        self, measured: float, end: str
    ) -> None:
        """With what was asked and what was measured."""
        line = verdict("start", 1.6, measured)

        assert line.endswith(f" {end}")
        assert f"{measured:g}" in line
