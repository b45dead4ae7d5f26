"""`ticketctl verify` on the deployed system, well and broken."""

import io
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from rich.console import Console

from tests.e2e.conftest import System
from tests.support.ctl_process import Ctl
from tests.support.paused_worker import paused_worker
from ticketctl.local.artifact import ROOT
from ticketctl.local.connection_files import variables
from ticketctl.local.stack import LocalStack
from ticketctl.verify.report import print_run
from ticketctl.verify.run import Run
from ticketctl.verify.sample import sample_messages
from ticketctl.watch.temporary_queue import temporary_queue

pytestmark = pytest.mark.emulator


def plant(stack: LocalStack, project_id: str, number: int) -> None:
    """Write a ticket and its key past the worker."""
    dynamodb, outputs = stack.client("dynamodb"), stack.outputs
    item: dict[str, Any] = {
        "project_id": {"S": project_id},
        "number": {"N": str(number)},
        "idempotency_key": {"S": "planted"},
    }
    dynamodb.put_item(TableName=outputs["TicketsTableName"], Item=item)
    dynamodb.put_item(
        TableName=outputs["IdempotencyKeysTableName"],
        Item=item | {"id": {"S": f"{project_id}#planted"}},
    )


class TestVerify:
    """It sees whether the system does its job, and leaves others' things alone."""

    def test_verify_is_clean_and_removes_its_own_dead_letters_alone(
        self, ctl: Ctl, system: System
    ) -> None:
        sqs = system.stack.client("sqs")
        dead_letters = system.stack.outputs["DeadLetterQueueUrl"]
        sqs.send_message(QueueUrl=dead_letters, MessageBody="somebody's")
        before = sqs.list_queues()["QueueUrls"]

        ended = ctl("verify", "--yes", "--count", "25", "--json")

        assert ended.status == 0, ended.out
        found = ended.json
        assert (found["announced"], found["announced_again"]) == (25, 4)
        assert {each["error_type"] for each in found["dead_letters"]} == {
            "InvalidMessageError",
            "TicketTooLargeError",
            "IdempotencyMismatchError",
        }
        assert found["left_behind"] == {
            found["project_id"]: {"tickets": 25, "key_records": 25}
        }
        assert found["seconds_to_announced"]["p99"] > 0
        assert sqs.list_queues()["QueueUrls"] == before
        system.wait_for(lambda: system.dead_letters)
        bodies = [letter.body for letter in system.dead_letters]
        assert "somebody's" in bodies
        assert not any(found["project_id"] in body for body in bodies)

    def test_verify_ends_with_status_1_when_the_worker_is_stopped(
        self, ctl: Ctl, system: System
    ) -> None:
        with paused_worker(system.stack):
            ended = ctl("verify", "--yes", "--count", "1", "--timeout", "2")

        assert ended.status == 1
        assert "neither a number nor a dead letter" in ended.out
        assert "Verdict: NOT CLEAN" in ended.out

    def test_verdict_is_not_clean_when_the_table_has_a_gap(
        self, deployed: LocalStack, project: str
    ) -> None:
        """A ticket was written past the sequence, so the next ones continue there."""
        plant(deployed, project, number=3)

        with temporary_queue(deployed) as queue_url:
            run = Run(deployed, queue_url)
            verdict = run.follow(sample_messages(2, [project]), patience=5)

        console = Console(file=io.StringIO(), width=100)
        print_run(console, run, verdict)
        assert verdict.wrong == (f"{project}: numbers 1 to 2 are missing",)
        assert verdict.missing == (f"{project}-3: stored, and not announced",)
        assert "NOT CLEAN" in console.file.getvalue()  # type: ignore[attr-defined]

    def test_verify_removes_its_queue_when_it_is_interrupted(
        self, system: System
    ) -> None:
        deployed, sqs = system.stack, system.stack.client("sqs")
        before = sqs.list_queues()["QueueUrls"]
        with (
            paused_worker(deployed),
            subprocess.Popen(
                [sys.executable, "-m", "ticketctl", "verify", "--yes"],
                env=os.environ | {**variables(deployed), "PYTHONPATH": "src"},
                cwd=ROOT,
                stderr=subprocess.PIPE,
                text=True,
            ) as process,
        ):
            assert process.stderr
            assert "sending" in process.stderr.readline()
            assert len(sqs.list_queues()["QueueUrls"]) == len(before) + 1
            process.send_signal(signal.SIGINT)
            remarks = process.stderr.read()

        assert process.returncode == 130
        assert "interrupted: dead letters of VERIFY-" in remarks
        assert sqs.list_queues()["QueueUrls"] == before

    def test_verify_sends_nothing_when_nobody_agrees(self, ctl: Ctl) -> None:
        ended = ctl("verify")

        assert ended.status == 2
        assert "--yes" in ended.err
