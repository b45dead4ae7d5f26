"""`python -m ticketctl run`, as `make run` calls it."""

import os
import pty
import subprocess
import sys

import pytest

from tests.e2e.conftest import PATIENCE_SECONDS
from tests.support.paths import ROOT
from tests.support.transcripts import LAST, WIDTH, Reader, rows

pytestmark = pytest.mark.emulator


def test_run_fits_a_terminal_of_24_rows_and_ends_with_a_clean_verdict() -> None:
    person, terminal = pty.openpty()
    screen = Reader(person)
    ended = subprocess.run(
        [sys.executable, "-m", "ticketctl", "run"],
        cwd=ROOT,
        check=False,
        env=os.environ | {"COLUMNS": WIDTH, "TERM": "xterm"},
        timeout=PATIENCE_SECONDS,
        stdout=terminal,
        stderr=terminal,
    )
    os.write(terminal, LAST)

    shown = [row for _, row in rows(screen.text())]
    text = "\n".join(shown)
    assert ended.returncode == 0, text
    # The prompt takes a row, and an announcement may come more than once.
    assert len(shown) - text.count("(replay)") <= 24 - 1 - 2, text
    assert max(map(len, shown)) <= int(WIDTH), text
    assert ["WEB-1", "WEB"] in [row.split()[:2] for row in shown]
    # The reason of the worker, and not the one of SQS.
    assert text.count("at most 262144 are allowed") == 1
    assert "sent on purpose: 4 refused, 6 dead letters, 3 of them both" in text
    assert shown[-1].startswith("Verdict: clean, 6 of 13 messages got a number (4 ")
