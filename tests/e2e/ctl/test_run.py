"""`python -m ticketctl run`, as `make run` calls it."""

import re
import subprocess
import sys

import pytest

from tests.e2e.conftest import PATIENCE_SECONDS
from ticketctl.local.artifact import ROOT

pytestmark = pytest.mark.emulator


def test_run_shows_the_sample_and_ends_with_a_clean_verdict() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "ticketctl", "run"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        stdin=subprocess.DEVNULL,
    )

    assert result.returncode == 0, result.stderr
    assert re.search(r"\nWEB-1 +WEB +\w+ ", result.stdout)
    for reason in (
        "not JSON",
        "idempotency_key: Field required",
        "project_id: ",
        "priority: ",
        "at most 262144 are allowed",
        "idempotency_key: already used for ",
    ):
        assert reason in result.stdout
    assert "sent on purpose: 4 refused, 6 dead letters, 3 of them both" in result.stdout
    said = "Verdict: clean, 6 of 13 messages got a number (4 numbers, "
    assert result.stdout.splitlines()[-1].startswith(said)
