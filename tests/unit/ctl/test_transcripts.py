"""What each command shows in a terminal, and through a pipe, is as it was approved."""

from pathlib import Path

import pytest

from tests.support.transcripts import FOLDER, compared


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem
)
def test_transcripts_go_as_they_were_approved(path: Path, tmp_path: Path) -> None:
    difference = compared(path, tmp_path)

    assert not difference, f"\n{difference}"
