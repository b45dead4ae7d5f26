"""`python -m ticketctl run`, as `make run` calls it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import PATIENCE_SECONDS
from tests.support.builders import ticket_fields
from ticketctl.local.artifact import ROOT

pytestmark = pytest.mark.emulator


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - no shell, and no argument from outside.
        [sys.executable, "-m", "ticketctl", "run", *arguments],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        stdin=subprocess.DEVNULL,
    )


def test_run_shows_the_sample_and_ends_with_a_clean_verdict() -> None:
    result = run()

    assert result.returncode == 0, result.stderr
    assert re.search(r"\nWEB-1 +WEB +\w+ ", result.stdout)
    for reason in (
        "not JSON",
        "idempotency_key: Field required",
        "project_id: ",
        "priority: ",
        "at most 262144 are allowed",
        "idempotency_key: already used for ",
        "refused      SequenceFullError: max_number",
    ):
        assert reason in result.stdout
    counts = "messages sent: 35, numbers announced: 24, announced again: 4, refusals: 4"
    assert counts in result.stdout
    assert result.stdout.rstrip().endswith("Verdict: clean")


def test_run_numbers_a_file_in_order_when_the_queue_is_fifo(tmp_path: Path) -> None:
    """The lines come as the messages were sent; a bad one is a dead letter."""
    path = tmp_path / "my.jsonl"
    messages = [
        ticket_fields("MINE", title=f"[red] No. {serial}") for serial in range(12)
    ]
    path.write_text("\n".join(map(json.dumps, [*messages, {"no": "ticket"}])))

    result = run("--fifo", path)

    assert result.returncode == 0, result.stderr
    shown = re.findall(r"^MINE-(\d+) .*\[red\] No. (\d+)", result.stdout, re.MULTILINE)
    assert shown[:12] == [(str(serial + 1), str(serial)) for serial in range(12)]
    assert "messages sent: 13, numbers announced: 12" in result.stdout
