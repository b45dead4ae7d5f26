"""`ticketctl verify` on the deployed system, well and broken."""

import pytest

from tests.e2e.conftest import System
from tests.support.ctl_process import Ctl

pytestmark = pytest.mark.emulator


def test_verify_is_clean_and_removes_its_own_dead_letters_alone(
    ctl: Ctl, system: System
) -> None:
    sqs = system.stack.client("sqs")
    dead_letters = system.stack.outputs["DeadLetterQueueUrl"]
    sqs.send_message(QueueUrl=dead_letters, MessageBody="another's")
    before = sqs.list_queues()["QueueUrls"]

    ended = ctl("verify", "--yes", "--count", "25", "--json")

    assert ended.status == 0, ended.out
    report = ended.json
    # The probe may be repeated.
    assert report["announced"] == 25
    assert report["announced_again"] >= 2
    assert len(report["dead_letters"]) == 6
    assert len(report["refusals"]) == 4
    assert report["tickets_left_behind"] == {report["project_id"]: 25}
    assert report["seconds_to_announced"]["p99"] > 0
    assert sqs.list_queues()["QueueUrls"] == before
    system.wait_for(lambda: system.dead_letters)
    bodies = [letter.body for letter in system.dead_letters]
    assert "another's" in bodies
    assert not any(report["project_id"] in body for body in bodies)
