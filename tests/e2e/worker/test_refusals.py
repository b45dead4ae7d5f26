"""A refused message has its answer, through the deployed function."""

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields

pytestmark = pytest.mark.emulator


def test_third_request_is_answered_and_no_dead_letter_when_the_cap_is_two(
    system: System, project: str
) -> None:
    sent = system.send(*[ticket_fields(project, max_number=2) for _ in range(3)])

    assert system.problems() == []
    assert system.audit(project).numbers == (1, 2)
    assert system.dead_letters == []
    [refusal] = system.refusals(project)
    [late] = [one for one in sent if one.message_id == refusal["data"]["message_id"]]
    assert refusal["id"] == f"refused/{late.message_id}/SequenceFullError/max_number"
    assert refusal["source"] == system.stack.outputs["EventSource"]
    assert refusal["subject"] == project
    assert refusal["data"].pop("sent_at").endswith("Z")
    assert refusal["data"] == {
        "project_id": project,
        "idempotency_key": late.fields["idempotency_key"],
        "error_type": "SequenceFullError",
        "field": "max_number",
        "message_id": late.message_id,
    }
    [message] = [one for one in system.announced if late.message_id in one.body]
    assert message.attributes == {
        "event_type": "ticket-numbering.TicketRefused.v1",
        "project_id": project,
        "idempotency_key": late.fields["idempotency_key"],
        "error_type": "SequenceFullError",
    }
