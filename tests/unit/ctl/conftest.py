"""A harness for each test of a command that writes tickets."""

from pathlib import Path

import pytest

from tests.support.command_harness import Harness


@pytest.fixture
def harness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Harness:
    return Harness(tmp_path, capsys)
