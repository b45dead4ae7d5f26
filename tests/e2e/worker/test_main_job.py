"""Each promise, kept by the template and the built function on the emulator."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.sns_gate import Manner, door
from ticketctl.system.queues import Received, Sent

pytestmark = pytest.mark.emulator


def tickets(project_id: str, count: int) -> list[dict[str, Any]]:
    """Return create-ticket messages of one project."""
    return [ticket_fields(project_id) for _ in range(count)]


def wait_for_events(system: System, project_id: str, count: int) -> list[Any]:
    """Wait for so many announcements of the project, repeats included."""
    system.wait_for(lambda: len(system.events(project_id)) >= count)
    system.settle()
    return system.events(project_id)


class TestGaplessAndInOrder:
    """Promise 1: a project's numbers are exactly 1..n."""

    def test_messages_are_numbered_announced_and_stored(
        self, system: System, project: str
    ) -> None:
        """The main job: enqueue, hear the numbers, find the tickets."""
        messages = tickets(project, 5)

        system.send(*messages)

        events = wait_for_events(system, project, 5)
        assert sorted(each["data"]["number"] for each in events) == [1, 2, 3, 4, 5]
        assert {each["data"]["idempotency_key"] for each in events} == {
            each["idempotency_key"] for each in messages
        }
        assert system.audit(project).is_clean

    def test_numbers_have_no_gap_when_deliveries_overlap(
        self, system: System, project: str
    ) -> None:
        """500 messages over 20 projects, 8 deliveries at once: 1..25 in each."""
        projects = [f"{project}-{serial}" for serial in range(20)]
        messages = [ticket_fields(projects[each % 20]) for each in range(500)]
        parts = [messages[part::4] for part in range(4)]

        with ThreadPoolExecutor(4) as producers:
            list(producers.map(lambda part: system.send(*part), parts))

        def all_announced() -> bool:
            keys = {each.attributes["project_id"] for each in system.announced}
            ids = {json.loads(each.body)["id"] for each in system.announced}
            return keys >= set(projects) and len(ids) == 500

        system.wait_for(all_announced)
        system.settle()
        audits = [system.audit(each) for each in projects]
        assert [each.numbers for each in audits] == [tuple(range(1, 26))] * 20
        assert all(each.is_clean for each in audits)


class TestOncePerKey:
    """Promise 2: a key has one ticket and one number, for ever."""

    def test_key_gets_one_number_when_sent_twice_at_once(
        self, system: System, project: str
    ) -> None:
        """Two messages of one key in one send, so most likely in one batch."""
        message = ticket_fields(project)

        system.send(message, message)

        events = wait_for_events(system, project, 1)
        assert {each["id"] for each in events} == {f"{project}-1"}
        assert system.audit(project).numbers == (1,)

    def test_key_keeps_its_number_when_sent_again_later(
        self, system: System, project: str
    ) -> None:
        """The repeat is announced with the same event, marked as a replay."""
        message, other = tickets(project, 2)
        system.send(message)
        wait_for_events(system, project, 1)

        system.send(other, message)

        events = wait_for_events(system, project, 3)
        assert events.count(events[0]) == 2
        assert sorted(system.replays(project)) == [False, False, True]
        assert system.audit(project).numbers == (1, 2)

    def test_key_is_refused_when_sent_again_for_another_ticket(
        self, system: System, project: str
    ) -> None:
        """The second ticket is dead-lettered with the reason; the first stands."""
        message = ticket_fields(project)
        system.send(message)
        wait_for_events(system, project, 1)

        [sent] = system.send(message | {"title": "Another"})

        letter = wait_for_dead_letter(system, sent)
        assert letter.attributes["ErrorType"] == "IdempotencyMismatchError"
        assert f"{project}-1" in letter.attributes["ErrorMessage"]
        assert system.audit(project).numbers == (1,)

    def test_key_keeps_its_number_when_sent_back_from_the_dead_letter_queue(
        self, system: System, project: str
    ) -> None:
        """Numbered but never announced, dead-lettered, sent back with a new id."""
        with (
            door(system.stack, Manner.REFUSE) as sns,
            system.queue_attributes(
                VisibilityTimeout="5", RedrivePolicy=redrive_policy(system, after=2)
            ),
            system.function_environment(AWS_ENDPOINT_URL_SNS=sns.url),
        ):
            sent = system.send(*tickets(project, 3))
            letters = [wait_for_dead_letter(system, each) for each in sent]
            system.wait_for(lambda: len(system.audit(project).numbers) == 3)
        assert system.events(project) == []

        again = system.send(*[letter.body for letter in letters])

        events = wait_for_events(system, project, 3)
        assert {each.message_id for each in again}.isdisjoint(
            each.message_id for each in sent
        )
        assert {each["data"]["number"] for each in events} == {1, 2, 3}
        assert all(system.replays(project))
        assert system.audit(project).numbers == (1, 2, 3)


class TestAnnouncedAtLeastOnce:
    """Promise 3: every number is announced, with the same event id every time."""

    def test_number_is_announced_after_redelivery_when_worker_was_killed(
        self, system: System, project: str
    ) -> None:
        """Killed between commit and announcement: announced later, numbered once."""
        with (
            door(system.stack, Manner.KILL_CALLER, Manner.LET_THROUGH) as sns,
            system.queue_attributes(VisibilityTimeout="6"),
            system.function_environment(AWS_ENDPOINT_URL_SNS=sns.url),
        ):
            [sent] = system.send(ticket_fields(project))
            system.wait_for(lambda: sns.calls)
            numbers_when_killed = system.audit(project).numbers
            events = wait_for_events(system, project, 1)

        assert numbers_when_killed == (1,)
        assert system.dead_letter_of(sent) is None
        assert {each["id"] for each in events} == {f"{project}-1"}
        assert all(system.replays(project))
        assert system.audit(project).numbers == (1,)

    def test_announcements_carry_what_subscribers_filter_by(
        self, system: System, project: str
    ) -> None:
        """The attributes are those of the contract, and the body a CloudEvent."""
        system.send(ticket_fields(project, priority="urgent", description="Secret"))

        [event] = wait_for_events(system, project, 1)
        [message] = [
            each
            for each in system.announced
            if each.attributes["project_id"] == project
        ]
        assert message.attributes == {
            "event_type": "ticket-numbering.TicketNumberAssigned.v1",
            "project_id": project,
            "priority": "urgent",
            "replayed": "false",
        }
        assert (event["specversion"], event["id"]) == ("1.0", f"{project}-1")
        assert "Secret" not in message.body


POISON = {
    "not JSON": ("{nonsense", "body"),
    "no object": ("[1, 2]", "body"),
    "blank": (" ", "body"),
    "byte-order mark": ('\ufeff{"project_id": "P"}', "body"),
    "deep nesting": ("[" * 100_000, "body"),
    "missing field": ('{"project_id": "P", "title": "t"}', "idempotency_key"),
    "unknown field": (ticket_fields("P", colour="red"), "colour"),
    "wrong type": (ticket_fields("P", title=7), "title"),
    "empty field": (ticket_fields("P", title=""), "title"),
    "over-long field": (ticket_fields("P", title="x" * 201), "title"),
    "separator in project": (ticket_fields("P#1"), "project_id"),
    "NUL": (ticket_fields("P", title="a\0b"), "title"),
    "lone surrogate": (ticket_fields("P", title="\ud800"), "title"),
    "not a number": (ticket_fields("P", title=float("nan")), "title"),
    "huge integer": (
        json.dumps(ticket_fields("P", title=0)).replace("0}", "9" * 5000 + "}"),
        "title",
    ),
    "name twice": (
        json.dumps(ticket_fields("P")).replace("{", '{"title": "t", '),
        "title",
    ),
    "too large": (ticket_fields("P", description="x" * 262_144), "body"),
    "almost 1 MiB": ("x" * (1_048_576 - 200), "body"),
}


class TestNothingLost:
    """Promise 4: announced, or in the dead-letter queue byte for byte."""

    @pytest.mark.parametrize(("message", "field"), POISON.values(), ids=POISON)
    def test_poison_is_dead_lettered_at_once_with_its_body_and_a_reason(
        self, system: System, message: str | dict[str, Any], field: str
    ) -> None:
        """One delivery, one letter, one line that names the field."""
        [sent] = system.send(message)

        letter = wait_for_dead_letter(system, sent)

        assert letter.body == sent.body
        assert letter.attributes["ErrorMessage"].startswith(f"{field}: ")
        assert "Traceback" not in letter.attributes["ErrorMessage"]
        assert "\n" not in letter.attributes["ErrorMessage"]
        assert letter.attributes["SourceMessageId"] == sent.message_id
        assert letter.attributes["SentTimestamp"].isdigit()

    def test_poison_is_moved_whole_when_no_room_is_left_for_the_reason(
        self, system: System
    ) -> None:
        """A body of exactly 1 MiB: the redrive policy moves it in the end."""
        with system.queue_attributes(
            VisibilityTimeout="1", RedrivePolicy=redrive_policy(system, after=2)
        ):
            [sent] = system.send("x" * 1_048_576)

            letter = wait_for_dead_letter(system, sent)

        assert letter.body == sent.body
        assert letter.attributes == {}


class TestOneBadMessageHarmsOnlyItself:
    """Promise 5: the neighbours of poison get their numbers."""

    def test_neighbours_are_numbered_when_a_batch_holds_poison(
        self, system: System, project: str
    ) -> None:
        """Good and bad messages alternate in one batch."""
        good = tickets(project, 5)
        mixed: list[str | dict[str, Any]] = []
        for message in good:
            mixed += [message, "{nonsense"]

        sent = system.send(*mixed)

        events = wait_for_events(system, project, 5)
        assert len(events) == 5
        assert system.audit(project).numbers == (1, 2, 3, 4, 5)
        assert all(system.dead_letter_of(each) for each in sent[1::2])


class TestWhatOperatorsSee:
    """The log tells what became of each record, and the metrics count it."""

    def test_function_logs_one_outcome_line_a_record(
        self, system: System, project: str
    ) -> None:
        """Found again by the message's id, with the number beside it."""
        [sent] = system.send(ticket_fields(project, title="Do not log me"))
        wait_for_events(system, project, 1)

        def lines() -> list[dict[str, Any]]:
            logged = [each for each in system.stack.function_logs() if "{" in each]
            return [
                json.loads(each[each.index("{") :])
                for each in logged
                if sent.message_id in each
            ]

        [line] = system.wait_for(lines)
        assert (line["outcome"], line["ticket_key"]) == ("assigned", f"{project}-1")
        assert "Do not log me" not in json.dumps(line)


def redrive_policy(system: System, *, after: int) -> str:
    """Return the queue's redrive policy, with another count of deliveries."""
    return json.dumps(
        {
            "deadLetterTargetArn": system.stack.outputs["DeadLetterQueueArn"],
            "maxReceiveCount": str(after),
        }
    )


def wait_for_dead_letter(system: System, sent: Sent) -> Received:
    """Wait for what a message becomes in the dead-letter queue."""
    letter = system.wait_for(lambda: system.dead_letter_of(sent))
    assert letter is not None
    return letter
