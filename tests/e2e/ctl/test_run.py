"""`python -m ticketctl run`, as `make run` calls it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support.builders import ticket_fields
from ticketctl.local.artifact import ROOT
from ticketctl.local.report import Report
from ticketctl.local.run import judge_messages, run_messages, start_watch
from ticketctl.local.stack import LocalStack
from ticketctl.system.queues import Received, Sent
from ticketctl.watch.heard import ASSIGNED, VOIDED, announcement

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
        """Numbers, a replay, dead letters with reasons, a verdict; then it ends."""
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
        assert "messages sent: 35, numbers announced: 25" in result.stdout
        assert "still on the queue: 0, unaccounted for: 0" in result.stdout
        assert result.stdout.rstrip().endswith("Verdict: clean")

    def test_run_takes_messages_of_ones_own(self, tmp_path: Path) -> None:
        """A JSON object a line, poison among them if one likes."""
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
        """One line, the file's name in it, and nothing is started."""
        result = run(tmp_path / "absent.jsonl")

        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
        assert "absent.jsonl" in result.stderr
        assert result.stdout == ""


class TestReport:
    """Whatever comes from the topic is shown, and stops nothing."""

    @pytest.mark.parametrize(
        ("body", "shown"),
        [
            ("no JSON\x1b[2J", "not an announcement: no JSON\ufffd[2J"),
            ('{"type": "else"}', 'not an announcement: {"type": "else"}'),
            ('{"id": "X-1", "type": "other.v1"}', "X-1"),
            (json.dumps({"id": "X-1", "type": ASSIGNED, "data": {}}), "X-1"),
            (
                json.dumps({"id": "X-1", "type": VOIDED, "data": {"reason": "why"}}),
                "X-1 voided: why",
            ),
        ],
    )
    def test_message_is_shown_when_it_is_no_number(
        self, body: str, shown: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The topic carries more than numbers, and somebody may publish by hand."""
        report = Report(Console(highlight=False))

        report.announced(announcement(body, {}))

        assert shown in capsys.readouterr().out


class TestVerdict:
    """It is computed from the tables, so what is wrong there shows."""

    def test_verdict_is_not_clean_when_the_table_has_a_gap(
        self, deployed: LocalStack, project: str
    ) -> None:
        """A ticket written past the sequence, with its key, is a gap and unheard of."""
        plant(deployed, project, number=3)

        verdict = judge(deployed, ticket_fields(f"{project}-other"))

        [planted] = [each for each in verdict.projects if each.project_id == project]
        assert planted.gaps == ((1, 2),)
        assert f"{project}-3" in verdict.unannounced
        assert not verdict.is_clean

    def test_verdict_accounts_for_each_message(
        self, deployed: LocalStack, project: str
    ) -> None:
        """Numbered, repeated, reused and poison: each has its place."""
        message = ticket_fields(project)

        verdict = judge(
            deployed, message, message, message | {"title": "Another"}, {"no": "ticket"}
        )

        assert (verdict.sent, verdict.unaccounted) == (4, ())
        assert verdict.dead_letters >= 2

    @pytest.mark.parametrize(
        "change",
        [{"description": "Other"}, {"colour": "red"}, {"title": "Other"}],
        ids=["description", "unknown field", "title"],
    )
    def test_verdict_misses_a_message_that_came_to_nothing(
        self, deployed: LocalStack, project: str, change: dict[str, str]
    ) -> None:
        """Its key has a ticket, but not the one that it asked for."""
        message = ticket_fields(project)
        watch = start_watch(deployed, lambda _: None)
        run_messages(watch, [json.dumps(message)])
        lost = Sent("no-such-id", json.dumps(message | change))

        verdict = judge_messages(watch, [lost])

        assert verdict.unaccounted == (lost.body,)

    def test_verdict_misses_a_dead_letter_whose_body_is_not_the_one_sent(
        self, deployed: LocalStack
    ) -> None:
        """Byte for byte is part of the promise."""
        watch = start_watch(deployed, lambda _: None)
        watch.dead_letters.append(Received("other-id", "{ ", {"SourceMessageId": "id"}))

        verdict = judge_messages(watch, [Sent("id", "{")])

        assert verdict.unaccounted == ("{",)


def judge(deployed: LocalStack, *messages: dict[str, Any]) -> Any:
    """Run messages through the deployed system."""
    watch = start_watch(deployed, lambda _: None)
    return run_messages(watch, [json.dumps(each) for each in messages])


def plant(deployed: LocalStack, project_id: str, number: int) -> None:
    """Write a ticket and its key past the worker."""
    dynamodb, outputs = deployed.client("dynamodb"), deployed.outputs
    item = {
        "project_id": {"S": project_id},
        "number": {"N": str(number)},
        "idempotency_key": {"S": "planted"},
    }
    dynamodb.put_item(TableName=outputs["TicketsTableName"], Item=item)
    dynamodb.put_item(
        TableName=outputs["IdempotencyKeysTableName"],
        Item=item | {"id": {"S": f"{project_id}#planted"}},
    )
