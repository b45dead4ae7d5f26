"""Tickets can be voided, and announced again."""

from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from ticketctl.cli.errors import Status

pytestmark = pytest.mark.emulator


def number(system: System, project: str, *messages: dict[str, Any]) -> None:
    """Send messages, and wait until each one's number is announced."""
    system.send(*messages)
    keys = {message["idempotency_key"] for message in messages}
    system.wait_for(lambda: keys <= announced(system, project).keys())


def announced(system: System, project: str) -> dict[str, int]:
    return {
        event["data"]["idempotency_key"]: event["data"]["number"]
        for event in system.events(project)
        if "assigned_at" in event["data"]
    }


def test_next_number_follows_a_voided_ticket_and_all_are_announced_again(
    ctl: Ctl, system: System, project: str
) -> None:
    """As their first subscriber got them, in order, but marked as replays."""
    number(system, project, *(ticket_fields(project) for _ in range(12)))
    voided = ctl("void", f"{project}-12", "--reason", "spam", "--yes")
    number(system, project, ticket_fields(project, "k-13"))
    system.wait_for(lambda: len(system.events(project)) >= 14)
    first = {event["id"]: event for event in system.events(project)}
    system.announced.clear()

    ended = ctl("announce", "--project", project, "--from", "2", "--yes")
    system.wait_for(lambda: len(system.events(project)) >= 13)

    assert {run.status for run in (voided, ended)} == {Status.OK}
    assert ended.err == ""
    assert first[f"{project}-13"]["data"]["idempotency_key"] == "k-13"
    again = {event["id"]: event for event in system.events(project)}
    assert again == {name: first[name] for name in first if name != f"{project}-1"}
    assert all(system.replays(project))
    assert ctl("show", f"{project}-12", "--json").json["voided_by"].startswith("arn:")
    assert ctl("audit", "--project", project).status == Status.OK
