"""`python -m ticketctl run`, as `make run` calls it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.builders import ticket_fields
from ticketctl.local.artifact import ROOT

pytestmark = pytest.mark.emulator


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command without a terminal."""
    return subprocess.run(  # noqa: S603 - no shell, and no argument from outside.
        [sys.executable, "-m", "ticketctl", "run", *arguments],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


class TestCommand:
    """What a newcomer sees, and what a script can rely on."""

    def test_run_shows_the_sample_and_ends_with_a_clean_verdict(self) -> None:
        result = run()

        assert result.returncode == 0, result.stderr
        assert "number 1    of project WEB" in result.stdout
        for reason in (
            "not JSON",
            "idempotency_key: Field required",
            "project_id: ",
            "priority: ",
            "at most 262144 are allowed",
            "idempotency_key: already used for ",
        ):
            assert reason in result.stdout
        assert (
            "messages sent: 34, numbers announced: 24, announced again: 4"
            in result.stdout
        )
        assert result.stdout.rstrip().endswith("Verdict: clean")

    def test_run_takes_messages_of_ones_own(self, tmp_path: Path) -> None:
        path = tmp_path / "my.jsonl"
        messages = [ticket_fields("MINE", title="[red]Mine[/red]"), {"no": "ticket"}]
        path.write_text("\n".join(json.dumps(each) for each in messages))

        result = run(path)

        assert result.returncode == 0, result.stderr
        assert "[red]Mine[/red]" in result.stdout
        assert "messages sent: 2, numbers announced: 1" in result.stdout

    def test_run_announces_in_order_when_it_is_told_to(self, tmp_path: Path) -> None:
        """FIFO queues and a FIFO topic: the lines come as the messages were sent."""
        path = tmp_path / "my.jsonl"
        messages = [ticket_fields("MINE", title=f"No. {each}") for each in range(12)]
        path.write_text("\n".join(map(json.dumps, [*messages, messages[0]])))

        result = run("--fifo", path)

        assert result.returncode == 0, result.stderr
        shown = re.findall(r"^MINE-(\d+) .*No. (\d+)", result.stdout, re.MULTILINE)
        assert shown[:12] == [(str(each + 1), str(each)) for each in range(12)]
        assert "numbers announced: 12, announced again: 1" in result.stdout

    def test_run_ends_at_once_when_its_file_cannot_be_used(
        self, tmp_path: Path
    ) -> None:
        result = run(tmp_path / "absent.jsonl")

        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
        assert "absent.jsonl" in result.stderr
        assert result.stdout == ""
