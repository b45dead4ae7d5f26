"""A stage for each test of a command."""

from pathlib import Path

import pytest

from tests.support.command_harness import Harness
from tests.support.stage import Stage
from ticketctl.cli.output import notes


@pytest.fixture(autouse=True)
def _own_console() -> None:
    """Each test has streams of its own, be they terminals or not."""
    notes.cache_clear()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture
def harness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Harness:
    return Harness(tmp_path, capsys)
