"""A refused message has its answer, through the deployed function."""

from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.e2e.worker.test_main_job import wait_for_dead_letter
from tests.support.builders import ticket_fields
from tests.support.sns_gate import Manner, door
from ticketctl.aws.sender import Request

pytestmark = pytest.mark.emulator


def refusal_of(system: System, project: str, sent: Request) -> dict[str, Any]:
    """Wait for the refusal of a message; return the event."""

    def found() -> list[dict[str, Any]]:
        refusals = system.refusals(project)
        return [one for one in refusals if one["data"]["message_id"] == sent.message_id]

    return system.wait_for(found)[0]


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


class TestPoison:
    """Poison is answered too, if its project and key can be read."""

    def test_event_and_dead_letter_name_the_reason_when_a_message_is_poison(
        self, system: System, project: str
    ) -> None:
        used, typo = ticket_fields(project), f"{project[:-1]}O"
        system.send(used)
        system.wait_for(lambda: system.events(project))
        with system.function_environment(ALLOWED_PROJECTS=project):
            reused, unknown, disallowed = system.send(
                used | {"title": "Another"},
                ticket_fields(project, no_such_field="ada"),
                ticket_fields(typo),
            )
            refusals = {
                (event["data"]["error_type"], event["data"]["field"])
                for event in (
                    refusal_of(system, project, reused),
                    refusal_of(system, project, unknown),
                    refusal_of(system, typo, disallowed),
                )
            }
            letters = [
                wait_for_dead_letter(system, sent)
                for sent in (reused, unknown, disallowed)
            ]

        assert refusals == {
            ("IdempotencyMismatchError", "idempotency_key"),
            ("InvalidMessageError", "body"),
            ("InvalidMessageError", "project_id"),
        }
        assert [letter.attributes["ErrorType"] for letter in letters] == [
            "IdempotencyMismatchError",
            "InvalidMessageError",
            "InvalidMessageError",
        ]
        assert system.audit(project).numbers == (1,)
        assert system.audit(typo).numbers == ()

    def test_dead_letter_comes_alone_when_nothing_can_be_read(
        self, system: System, project: str
    ) -> None:
        [sent] = system.send(f"{{ {project}")

        wait_for_dead_letter(system, sent)
        system.settle()

        assert not any(sent.message_id in one.body for one in system.announced)


@pytest.mark.parametrize("extra", [{"max_number": 1}, {"no_such_field": "ada"}])
def test_refusal_is_the_same_event_when_its_message_is_delivered_again(
    system: System, project: str, extra: dict[str, Any]
) -> None:
    """The function is killed after the announcement, and before its answer."""
    system.send(ticket_fields(project))
    system.wait_for(lambda: system.events(project))
    with (
        door(system.stack, Manner.KILL_AFTERWARDS, Manner.LET_THROUGH) as sns,
        system.queue_attributes(VisibilityTimeout="2"),
        system.function_environment(AWS_ENDPOINT_URL_SNS=sns.url),
    ):
        [sent] = system.send(ticket_fields(project, **extra))
        system.wait_for(lambda: len(system.refusals(project)) >= 2)
        system.settle()

    # A slow machine delivers it a third time meanwhile.
    first, *others = system.refusals(project)
    assert others == [first] * len(others)
    assert first["data"]["message_id"] == sent.message_id
    assert system.audit(project).numbers == (1,)
