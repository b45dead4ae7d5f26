"""Each promise, kept by the template and the built function on the emulator."""

import json
from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.support.audits import numbers_of
from tests.support.builders import ticket_fields
from tests.support.proxy import Action, sns_proxy
from ticket_numbering.worker.results import Assigned
from ticketctl.aws.sender import Request

pytestmark = pytest.mark.emulator


def tickets(project_id: str, count: int) -> list[dict[str, Any]]:
    return [ticket_fields(project_id) for _ in range(count)]


def test_messages_are_numbered_announced_stored_and_logged(
    system: System, project: str
) -> None:
    """Promise 1, and the main job: announced with the attributes for filters."""
    sent = system.send(
        *tickets(project, 4), ticket_fields(project, priority="urgent", reporter="ada")
    )

    assert system.problems() == []
    assert numbers_of(system.audit(project)) == (1, 2, 3, 4, 5)
    key = sent[-1].fields["idempotency_key"]
    [message] = [one for one in system.announced if key in one.body]
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


class TestOncePerKey:
    """Promise 2: a key has one ticket and one number, for ever."""

    def test_key_keeps_its_number_and_ticket_when_sent_again(
        self, system: System, project: str
    ) -> None:
        """Announced with the same event, as a replay; another ticket is refused."""
        message, other = tickets(project, 2)
        system.send(message)
        assert system.problems() == []

        system.send(other, message, message | {"title": "Another"})

        assert system.problems() == []
        assert sorted(system.replays(project)) == [False, False, True]
        [letter] = system.own_dead_letters()
        assert f"{project}-1" in letter.attributes["ErrorMessage"]
        assert numbers_of(system.audit(project)) == (1, 2)


def test_number_is_announced_after_redelivery_when_worker_was_killed(
    system: System, project: str
) -> None:
    """Promise 3: killed between commit and announcement, announced later."""
    with (
        sns_proxy(system.stack, Action.KILL_CALLER, Action.LET_THROUGH) as sns,
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


class TestNothingLost:
    """Promises 4 and 5: poison is set aside whole, and harms only itself."""

    def test_poison_is_dead_lettered_with_a_reason_and_neighbours_are_numbered(
        self, system: System, project: str
    ) -> None:
        """And its refusal is announced, if project and key can be read."""
        first, poison, second = tickets(project, 3)

        _, sent, _ = system.send(first, poison | {"title": ""}, second)

        assert system.problems() == []
        [letter] = system.own_dead_letters()
        assert letter.attributes["ErrorMessage"].startswith("title: ")
        assert letter.attributes["SourceMessageId"] == sent.message_id
        assert letter.attributes["SentTimestamp"].isdigit()
        assert numbers_of(system.audit(project)) == (1, 2)

    def test_refusal_is_announced_when_the_cap_is_reached(
        self, system: System, project: str
    ) -> None:
        """A number for each request below it, and no dead letter."""
        system.send(*[ticket_fields(project, max_number=2) for _ in range(3)])

        assert system.problems() == []
        assert numbers_of(system.audit(project)) == (1, 2)
        assert system.own_dead_letters() == []
        assert len(system.refusals(project)) == 1
