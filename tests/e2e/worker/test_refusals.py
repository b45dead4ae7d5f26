"""A refused message has its answer, through the deployed function."""

import pytest

from tests.e2e.conftest import System
from tests.e2e.worker.test_main_job import wait_for_dead_letter
from tests.support.builders import ticket_fields

pytestmark = pytest.mark.emulator


def test_third_request_is_answered_and_no_dead_letter_when_the_cap_is_two(
    system: System, project: str
) -> None:
    sent = system.send(*[ticket_fields(project, max_number=2) for _ in range(3)])

    system.wait_for(lambda: system.refusals(project))
    system.wait_for(lambda: len(system.events(project)) == 2)
    system.settle()

    assert {event["id"] for event in system.events(project)} == {
        f"{project}-1",
        f"{project}-2",
    }
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
    assert not any(system.dead_letter_of(one) for one in sent)
    assert system.audit(project).numbers == (1, 2)


def test_event_and_dead_letter_name_the_reason_when_a_message_is_poison(
    system: System, project: str
) -> None:
    [sent] = system.send(ticket_fields(project, no_such_field="ada"))

    letter = wait_for_dead_letter(system, sent)
    [refusal] = system.wait_for(lambda: system.refusals(project))

    assert letter.attributes["ErrorType"] == "InvalidMessageError"
    assert refusal["data"]["error_type"] == "InvalidMessageError"
    assert refusal["data"]["field"] == "body"
    assert refusal["data"]["message_id"] == sent.message_id
    assert system.audit(project).numbers == ()
