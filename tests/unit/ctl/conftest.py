"""A stage for each test of a command."""

from pathlib import Path

import pytest

from tests.support.stage import Stage
from tests.support.steps import Steps
from ticketctl.cli.output import stderr_console


@pytest.fixture(autouse=True)
def _own_console() -> None:
    """Each test has streams of its own."""
    stderr_console.cache_clear()


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Steps:
    """Return the steps on a stage that leads boto3, with pages of one item."""
    stage = Stage(tmp_path)
    stage.services.dynamodb.page = 1
    stage.lead(monkeypatch)
    return Steps(stage)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
