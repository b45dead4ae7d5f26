"""The output of each command, in a terminal and a pipe, is the approved one."""

from pathlib import Path

import pytest

from tests.support.ctl_process import registered
from tests.support.transcripts import FOLDER, compared

PATHS = sorted(FOLDER.glob("*.txt"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_transcripts_go_as_they_were_approved(path: Path, tmp_path: Path) -> None:
    difference = compared(path, tmp_path)

    assert not difference, f"\n{difference}"


@pytest.mark.parametrize("words", [*registered()], ids=" ".join)
def test_command_has_a_transcript(words: tuple[str, ...]) -> None:
    line = f"ticketctl {' '.join(words)}"

    assert any(line in path.read_text(encoding="utf-8") for path in PATHS)
