"""The main job of the template and the built function, on the emulator."""

import json
from typing import Any

import pytest

from simulation.aws.faults import Fault
from tests.e2e.conftest import System
from tests.support.audits import numbers_of
from tests.support.builders import ticket_fields
from tests.support.proxy import Proxy, serving
from ticket_numbering.worker.results import Assigned
from ticketctl.aws.sender import Request

pytestmark = pytest.mark.emulator


def test_messages_are_numbered_announced_stored_and_logged(
    system: System, project: str
) -> None:
    """Promise 1, and the main job: announced with the attributes for filters."""
    sent = system.send(
        *(ticket_fields(project) for _ in range(4)),
        ticket_fields(project, priority="urgent", reporter="ada"),
    )

    assert system.problems() == []
    assert numbers_of(system.audit(project)) == (1, 2, 3, 4, 5)
    key = sent[-1].fields["idempotency_key"]
    [message] = [message for message in system.announced if key in message.body]
    assert message.attributes == {
        "event_type": "ticket-numbering.TicketNumberAssigned.v1",
        "project_id": project,
        "priority": "urgent",
        "idempotency_key": key,
        "replayed": "false",
    }
    line = system.wait_for(lambda: outcome_of(system, sent[-1]))
    assert line["service"] == system.stack.name
    assert line["outcome"] == Assigned.outcome
    assert line["ticket_key"] == json.loads(message.body)["id"]


def outcome_of(system: System, sent: Request) -> dict[str, Any]:
    """Return the log's lines on a message so far."""
    lines = [line for line in system.logs() if sent.message_id in line]
    outcome: dict[str, Any] = json.loads(
        lines[0][lines[0].index("{") :] if lines else "{}"
    )
    return outcome


def test_number_is_announced_after_redelivery_when_worker_was_killed(
    system: System, project: str
) -> None:
    """Promise 3: killed between commit and announcement, announced later."""
    with (
        serving(Proxy(system.stack, Fault.KILLED_BEFORE)) as sns,
        # Longer than the first delivery takes on a slow machine.
        system.queue_attributes(VisibilityTimeout="6"),
        system.function_environment(AWS_ENDPOINT_URL_SNS=sns.url),
    ):
        system.send(ticket_fields(project))
        system.wait_for(lambda: sns.calls)
        numbers_when_killed = numbers_of(system.audit(project))
        problems = system.problems()

    assert numbers_when_killed == (1,)
    assert problems == []
    assert all(system.replays(project))
