"""A site for each test of a command that writes tickets."""

from pathlib import Path

import pytest

from tests.support.command_site import Site


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Site:
    return Site(tmp_path, capsys)
