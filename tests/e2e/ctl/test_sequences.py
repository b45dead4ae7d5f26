"""Sequences go on after external numbers among workers; tickets can be voided."""

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


def test_sequence_has_no_hole_when_it_is_seeded_while_being_numbered(
    ctl: Ctl, system: System, project: str
) -> None:
    """Contiguous up to where the seed began, contiguous after, nothing within."""
    messages = [ticket_fields(project) for _ in range(100)]
    system.send(*messages[:60])
    system.wait_for(lambda: announced(system, project))

    ended = ctl("seed", project, "--last", "9000", "--yes")
    number(system, project, *messages[60:])
    system.wait_for(lambda: len(announced(system, project)) == len(messages))

    # Status 1, if a worker numbered tickets between the two steps of the seed.
    assert ended.status in {Status.OK, Status.FOUND}
    given = sorted(announced(system, project).values())
    before = [number for number in given if number < 9000]
    assert before == [*range(1, len(before) + 1)]
    assert before
    assert given == [*before, *range(9001, 9101 - len(before))]
    assert len(before) <= 60
    assert ctl("audit", "--project", project).status == Status.OK


def test_repeat_keeps_its_number_when_the_ticket_was_erased(
    ctl: Ctl, system: System, project: str
) -> None:
    request = ticket_fields(project, "k-1", description="private")
    number(system, project, request)

    ended = ctl("erase", f"{project}-1", "--reason", "asked to", "--yes")
    number(system, project, request)
    system.wait_for(lambda: len(system.events(project)) >= 3)

    assert (ended.status, ended.err) == (Status.OK, "")
    found = ctl("find", project, "k-1", "--json").json
    ticket, record = found["ticket"], found["record"]
    assert (ticket["title"], ticket["status"]) == ("erased", "erased")
    assert ticket["erased_by"].startswith("arn:")
    assert not {"description", "salt"} & ticket.keys()
    assert record["fingerprint"] == "erased:"
    first, again = (
        event["data"]
        for event in system.events(project)
        if "assigned_at" in event["data"]
    )
    assert first == again
    assert first["chain"] == ticket["chain"] == record["chain"]
    assert {event["subject"] for event in system.events(project)} == {f"{project}-1"}
    assert ctl("audit", "--project", project).status == Status.OK


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

    assert {one.status for one in (voided, ended)} == {Status.OK}
    assert ended.err == ""
    assert first[f"{project}-13"]["data"]["idempotency_key"] == "k-13"
    again = {event["id"]: event for event in system.events(project)}
    assert again == {name: first[name] for name in first if name != f"{project}-1"}
    assert all(system.replays(project))
    assert ctl("show", f"{project}-12", "--json").json["voided_by"].startswith("arn:")
    assert ctl("audit", "--project", project).status == Status.OK
