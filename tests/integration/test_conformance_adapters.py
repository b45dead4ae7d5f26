"""The worker's SNS and SQS adapters on every backend."""

from typing import Any

import pytest

from tests.integration.conformance.messages import receive_all
from tests.support.backends import Backend
from tests.support.builders import announcement, create_tickets, plenty, queue_record
from tests.support.cases import cases
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.adapters.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.worker.ports import DeadLetter

MIB = 1024 * 1024


def dead_letter(body: str, **overrides: Any) -> DeadLetter:
    """Return a dead letter."""
    error = InvalidMessageError("not JSON: \x00 \ud800")
    return DeadLetter(queue_record(body, **overrides), error)


def test_publisher_publishes_all_when_one_call_cannot_take_them(
    backend: Backend,
) -> None:
    announcements = [
        announcement(request, number, replayed=number % 2 == 0)
        for number, request in enumerate(create_tickets(12), 1)
    ]

    publisher = SNSPublisher(backend.sns, backend.topic)

    assert publisher.publish(announcements, plenty) == {}


class TestDeadLetters:
    """Parked byte for byte with their reason; failures harm only themselves."""

    def parked(self, backend: Backend) -> list[Any]:
        """Return all messages in the dead-letter queue, up to twenty."""
        calls = [receive_all(backend, backend.dead) for _ in range(2)]
        return [message for messages in calls for message in messages]

    def test_dead_letters_are_parked_when_one_call_cannot_take_them(
        self, backend: Backend
    ) -> None:
        dead_letters = [
            dead_letter(f"not JSON {n}", group_id="PROJ") for n in range(12)
        ]

        failures = SQSDeadLetters(backend.sqs, backend.dead).send(dead_letters, plenty)

        parked = self.parked(backend)
        assert failures == {}
        assert sorted(message["Body"] for message in parked) == sorted(
            str(dead_letter.record.body) for dead_letter in dead_letters
        )
        for message in parked:
            reason = message["MessageAttributes"]["ErrorMessage"]["StringValue"]
            assert reason == "not JSON: \ufffd \ufffd"
            assert message["Attributes"]["MessageGroupId"] == "PROJ"

    @pytest.mark.parametrize(
        ("body", "is_taken_by_moto"),
        cases(
            {
                "control": ("\x00", True),
                "empty": ("", True),
                "large": ("x" * (MIB - 10), False),
            }
        ),
    )
    def test_dead_letter_fails_alone_when_the_queue_does_not_take_it(
        self, backend: Backend, body: str, *, is_taken_by_moto: bool
    ) -> None:
        bad = dead_letter(body)
        dead_letters = [dead_letter("before"), bad, dead_letter("after")]

        failures = SQSDeadLetters(backend.sqs, backend.dead).send(dead_letters, plenty)

        is_taken = is_taken_by_moto and backend.name == "moto"
        assert [*failures] == ([] if is_taken else [bad.record.message_id])
        bodies = {message["Body"] for message in self.parked(backend)}
        assert bodies >= {"before", "after"}
