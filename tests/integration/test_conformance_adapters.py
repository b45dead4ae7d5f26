"""The three real adapters, through one story on every backend."""

from typing import Any

import pytest

from tests.support.builders import create_ticket, create_tickets, plenty, queue_record
from tests.support.conformance import Backend, OnEveryBackend
from ticket_numbering.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.errors import InvalidMessageError
from ticket_numbering.messages import Assignment, CreateTicket, TicketNumberAssigned
from ticket_numbering.ports import (
    Announcement,
    Block,
    Cancelled,
    Committed,
    DeadLetter,
    Reason,
    Refused,
    Slot,
)
from ticket_numbering.sns_publisher import SNSPublisher
from ticket_numbering.sqs_dead_letters import SQSDeadLetters

NOW = "2026-11-21T06:00:00.000Z"
FAILED = Reason.CONDITION_FAILED
MIB = 1024 * 1024


def store_of(backend: Backend) -> DynamoDBTicketStore:
    """Return the real adapter."""
    return DynamoDBTicketStore(backend.dynamodb, backend.tickets, backend.keys)


def recorded(request: CreateTicket, number: int) -> Assignment:
    """Return what is recorded of a request."""
    return Assignment(number, request.fingerprint, NOW)


class TestTicketStore(OnEveryBackend):
    """Every answer that the algorithm knows."""

    def write(self, backend: Backend, first: int, *requests: CreateTicket) -> Any:
        """Write a block."""
        return store_of(backend).write_block(Block("PROJ", first, NOW, requests))

    def test_store_tells_the_same_story(self, backend: Backend) -> None:
        """New, replayed, taken, both, and another request under an old key."""
        old, other, *new = create_tickets(4)
        reused = create_ticket("PROJ", old.idempotency_key, title="another")

        story = [
            self.write(backend, 1, old, other),
            self.write(backend, 3, new[0], old),
            self.write(backend, 2, *new),
            self.write(backend, 1, reused, new[0], other),
            self.write(backend, 3, *new),
        ]

        assert story == [
            Committed(),
            Cancelled([Slot(), Slot(key=FAILED, recorded=recorded(old, 1))]),
            Cancelled([Slot(FAILED), Slot()]),
            Cancelled(
                [
                    Slot(FAILED, FAILED, recorded(old, 1)),
                    Slot(FAILED),
                    Slot(key=FAILED, recorded=recorded(other, 2)),
                ]
            ),
            Committed(),
        ]

    def test_store_reads_what_it_has_written(self, backend: Backend) -> None:
        """The last number as a number, and keys beyond one call's hundred."""
        requests = create_tickets(101)
        for start in (0, 50, 100):
            self.write(backend, start + 1, *requests[start : start + 50])
        store = store_of(backend)

        found = store.recorded([each.key for each in [*requests, create_ticket()]])

        assert (store.last_number("PROJ"), store.last_number("OTHER")) == (101, 0)
        assert found == {
            each.key: recorded(each, number) for number, each in enumerate(requests, 1)
        }

    @pytest.mark.parametrize("case", ["many", "twice"])
    def test_store_is_refused_when_a_block_breaks_a_rule(
        self, backend: Backend, case: str
    ) -> None:
        """Nothing is tried, and nothing written."""
        request = create_ticket()
        block = {"many": create_tickets(51), "twice": [request, request]}[case]

        answer = self.write(backend, 1, *block)

        assert isinstance(answer, Refused)
        assert store_of(backend).last_number("PROJ") == 0

    def test_store_names_the_offender_when_a_ticket_is_too_large(
        self, backend: Backend
    ) -> None:
        """Or refuses the block: both forms are documented, both split it."""
        large = create_ticket().model_copy(update={"description": "d" * 400 * 1024})

        answer = self.write(backend, 1, create_ticket(), large)

        assert isinstance(answer, Refused) or (
            answer == Cancelled([Slot(), Slot(Reason.INVALID)])
        )
        assert store_of(backend).last_number("PROJ") == 0


class TestAnnouncer(OnEveryBackend):
    """What is announced, and what failed, by event id."""

    def test_announcer_announces_more_than_one_call_can_take(
        self, backend: Backend
    ) -> None:
        """Twelve announcements, first and repeated ones."""
        announcements = [
            Announcement(
                TicketNumberAssigned.of(request, number, NOW), replayed=number % 2 == 0
            )
            for number, request in enumerate(create_tickets(12), 1)
        ]
        publisher = SNSPublisher(backend.sns, backend.topic)

        assert publisher.publish(announcements, plenty) == {}


def letter(body: str, **overrides: Any) -> DeadLetter:
    """Return a letter."""
    error = InvalidMessageError("not JSON: \x00 \ud800")
    return DeadLetter(queue_record(body, **overrides), error)


class TestDeadLetters(OnEveryBackend):
    """What is parked, byte for byte, and what failed, by message id."""

    def parked(self, backend: Backend) -> list[Any]:
        """Return all messages in the dead-letter queue, up to twenty."""
        return [
            message
            for _ in range(2)
            for message in backend.sqs.receive_message(
                QueueUrl=backend.dead,
                MaxNumberOfMessages=10,
                VisibilityTimeout=30,
                MessageSystemAttributeNames=["All"],
                MessageAttributeNames=["All"],
            ).get("Messages", [])
        ]

    def test_dead_letters_are_parked_as_they_are(self, backend: Backend) -> None:
        """Two calls, a group, and the reason beside each body."""
        letters = [letter(f"not JSON {n}", group_id="PROJ") for n in range(12)]

        failures = SQSDeadLetters(backend.sqs, backend.dead).send(letters, plenty)

        parked = self.parked(backend)
        assert failures == {}
        assert sorted(each["Body"] for each in parked) == sorted(
            str(each.record.body) for each in letters
        )
        for each in parked:
            reason = each["MessageAttributes"]["ErrorMessage"]["StringValue"]
            assert reason == "not JSON: \ufffd \ufffd"
            assert each["Attributes"]["MessageGroupId"] == "PROJ"

    @pytest.mark.parametrize(
        "body", ["\x00", "", "x" * (MIB - 10)], ids=["control", "empty", "large"]
    )
    def test_dead_letters_fail_one_by_one(self, backend: Backend, body: str) -> None:
        """What the queue does not take harms only itself."""
        bad = letter(body)
        letters = [letter("before"), bad, letter("behind")]

        failures = SQSDeadLetters(backend.sqs, backend.dead).send(letters, plenty)

        failed = [each == bad.record.message_id for each in failures]
        assert failed == backend.expected([True])
        assert {each["Body"] for each in self.parked(backend)} >= {"before", "behind"}
