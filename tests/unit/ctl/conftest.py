"""A harness for each test of a command that writes tickets."""

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
def harness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Harness:
    return Harness(tmp_path, capsys)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Return a stage whose tables have pages of one item."""
    stage = Stage(tmp_path, monkeypatch)
    stage.services.dynamodb.page = 1
    return stage
