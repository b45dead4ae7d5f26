"""The tour of the local system, command by command."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.e2e.conftest import PATIENCE_SECONDS, killed_at_end, wait_until
from tests.support.paths import ROOT
from ticketctl.local.connection_files import SHELL_FILE

pytestmark = pytest.mark.emulator

TICKETS = 200
POISON = 3
TICKETCTL = f"{shlex.quote(sys.executable)} -m ticketctl"


@pytest.fixture
def printed(tmp_path: Path) -> Iterator[Path]:
    """Start the system as `make up` does, and stop it as Ctrl-C does.

    Gives the file with its output.
    """
    path = tmp_path / "up.txt"
    with (
        path.open("wb") as out,
        killed_at_end(
            subprocess.Popen(
                [sys.executable, "-m", "ticketctl", "up"],
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                text=True,
            )
        ) as process,
    ):
        ready = "Stop with Ctrl-C: the tickets are gone then"
        wait_until(lambda: ready in path.read_text(), path.read_text)
        yield path
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_SECONDS) == 0


def typed(
    command: str, directory: Path
) -> AbstractContextManager["subprocess.Popen[str]"]:
    """Start a command in a shell that has sourced the file."""
    own = {"TICKETCTL": TICKETCTL}
    # Variables of a newcomer's shell must not select another system.
    foreign = {"AWS_PROFILE": "foreign", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    script = f"source {shlex.quote(str(SHELL_FILE))} && {command}"
    process = subprocess.Popen(  # noqa: S603 - our own commands.
        ["/bin/bash", "-c", script.replace("ticketctl ", f"{TICKETCTL} ")],
        cwd=directory,
        env=os.environ | foreign | own | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    return killed_at_end(process)


def said(command: str, directory: Path, status: int = 0) -> str:
    """Run a command to its end; return its output, notes included."""
    with typed(command, directory) as process:
        out, notes = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == status, out + notes
    return out + notes


def dead_letters(directory: Path) -> list[dict[str, str]]:
    out = said("ticketctl dead-letters list --json 2> /dev/null", directory)
    dead_letters: list[dict[str, str]] = json.loads(out)["dead_letters"]
    return dead_letters


def event_ids(watched: Path) -> set[str]:
    """Return the ids of the events in whole lines; SNS may deliver one twice."""
    lines = watched.read_text().split("\n")[:-1]
    return {json.loads(line)["id"] for line in lines}


def test_tour_ends_with_a_clean_audit(printed: Path, tmp_path: Path) -> None:
    """Two hundred tickets, three of them wrong, one of these fixed."""
    first = said('ticketctl send --project MINE --title "First" --wait', tmp_path)
    assert "MINE-1" in first
    # A second system would take over the first one's addresses.
    assert "runs already" in said("ticketctl up", ROOT, status=2)
    said(f"ticketctl sample {TICKETS} --poison {POISON} > t.jsonl", tmp_path)
    refused = said("ticketctl send-file t.jsonl", tmp_path, status=2)
    assert refused.count("t.jsonl:") == POISON + 1
    expected = TICKETS - POISON + 1
    watched = tmp_path / "watched.jsonl"
    with typed(f"ticketctl watch --json > {watched.name}", tmp_path) as watch:
        assert watch.stderr is not None
        assert "watching" in watch.stderr.readline()
        # Of two requests of one key either event can be the first to arrive.
        wait = "ticketctl send-file t.jsonl --unchecked --wait || test $? = 1"
        said(wait, tmp_path)
        # Refusals are announced at the end of their batch.
        wait_until(lambda: len(dead_letters(tmp_path)) == POISON)
        [start] = [
            dead_letter["message_id"][:8]
            for dead_letter in dead_letters(tmp_path)
            if "priority" in dead_letter["error_message"]
        ]
        said(f"ticketctl dead-letters show {start} --raw > body.json", tmp_path)
        body = tmp_path / "body.json"
        body.write_text(body.read_text().replace("whenever", "high"))
        edit = f"ticketctl dead-letters edit {start} --body body.json"
        said(edit, tmp_path)
        # Each refusal is announced too: project and key of the poison can be read.
        wait_until(lambda: len(event_ids(watched)) >= expected + POISON)
    refusals = [name for name in event_ids(watched) if name.startswith("refused/")]
    assert len(refusals) == POISON
    assert len(event_ids(watched)) == expected + POISON
    (tmp_path / "wishes.csv").write_text("project_id;title\nMINE;Export\n")
    made = (
        "ticketctl convert wishes.csv | ticketctl send-file - --key-prefix w --dry-run"
    )
    assert "good tickets: 1" in said(made, tmp_path)
    listed = said("ticketctl list WEB --limit 1", tmp_path)
    assert "there are more" in listed
    said('ticketctl void MINE-1 --reason "a mistake" --yes', tmp_path)
    # The system shows every announcement, and goes on.
    wait_until(lambda: "MINE-1 voided: a mistake" in printed.read_text())
    report = json.loads(said("ticketctl audit --json", tmp_path))
    assert report["clean"]
    assert report["tickets_read"] == expected + 1
