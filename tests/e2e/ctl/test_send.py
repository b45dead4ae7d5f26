"""`ticketctl send`, as a producer calls it, on the deployed system."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import System
from tests.support.audits import numbers_of
from tests.support.builders import create_ticket
from tests.support.ctl_process import Ctl
from tests.support.sample_messages import FOR_FILES, FULL, options_of

pytestmark = pytest.mark.emulator


def settled(system: System, project: str, count: int) -> tuple[int, ...]:
    """Wait for this number of announcements, and return the project's numbers."""
    system.wait_for(lambda: len(system.events(project)) >= count)
    system.settle()
    audit = system.audit(project)
    assert audit.is_clean
    return numbers_of(audit)


def test_ticket_of_every_option_has_a_number_when_nothing_can_be_announced(
    ctl: Ctl, system: System, project: str
) -> None:
    """It is committed before, and the table says so."""
    asked = FULL | {"project_id": project}
    asked = {name: asked[name] for name in asked.keys() - FOR_FILES}

    with (
        system.queue_attributes(VisibilityTimeout="2"),
        system.function_environment(ASSIGNMENTS_TOPIC_ARN="arn:aws:sns:x:1:none"),
    ):
        ended = ctl("send", *options_of(asked), "--wait")

    assert ended.status == 0
    assert ended.out.startswith(f"{project}-1  ")
    key = asked["idempotency_key"]
    assert ended.err == f"sent with the idempotency key {key}\n"
    assert settled(system, project, 1) == (1,)
    stored = ctl("find", project, key, "--json").json["ticket"]
    assert stored.items() >= create_ticket(**asked).content().items()


def test_nothing_is_created_twice_when_the_file_is_sent_again(
    ctl: Ctl, system: System, project: str, tmp_path: Path
) -> None:
    """A bad line is skipped; the second run gets the same numbers."""
    path = tmp_path / "my.jsonl"
    titles = [*(f"t{serial}" for serial in range(12)), "x" * 201]
    path.write_text("".join(f"{json.dumps({'title': title})}\n" for title in titles))
    command = ["send-file", str(path), "--project", project]
    command += ["--skip-invalid", "--wait"]

    first, second = ctl(*command), ctl(*command, "--json")

    assert (first.status, second.status) == (1, 1)
    assert f"{path}:13: title: " in first.err
    assert "messages sent: 12 of 12\n" in first.err
    assert "keys made from my.jsonl" in first.err
    shown = {line.split()[0]: line.split()[2] for line in first.out.splitlines()}
    again = {line["ticket_key"]: line["title"] for line in second.json_lines}
    assert again == shown
    assert settled(system, project, 24) == tuple(range(1, 13))
    assert sorted(system.replays(project)) == [False] * 12 + [True] * 12
