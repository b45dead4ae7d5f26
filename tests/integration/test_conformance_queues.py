"""Receiving from a queue, as the SQS references document it."""

from typing import Any

from tests.support.conformance import Backend, OnEveryBackend

BODY = '{"title": "Caf\u00e9 \U0001f469\u200d\U0001f467\\u0000",\t"n":\r\n 1.0}'
ATTRIBUTES = {
    "ErrorType": {"DataType": "String", "StringValue": "Caf\u00e9"},
    "Count": {"DataType": "Number", "StringValue": "7"},
}
HIDDEN_SECONDS = 1


def send(backend: Backend) -> str:
    """Send one message; return its id."""
    entry = {
        "Id": "one",
        "MessageBody": BODY,
        "MessageAttributes": ATTRIBUTES,
        "MessageGroupId": "PROJ",
    }
    answer = backend.sqs.send_message_batch(QueueUrl=backend.source, Entries=[entry])
    message_id: str = answer["Successful"][0]["MessageId"]
    return message_id


def receive(
    backend: Backend, url: str | None = None, hidden_seconds: int = 30
) -> dict[str, Any] | None:
    """Return the one message that is to be seen, if one is."""
    answer = backend.sqs.receive_message(
        QueueUrl=url or backend.source,
        MaxNumberOfMessages=10,
        VisibilityTimeout=hidden_seconds,
        MessageSystemAttributeNames=["All"],
        MessageAttributeNames=["All"],
    )
    messages = answer.get("Messages", [])
    assert len(messages) <= 1
    return messages[0] if messages else None


def receive_count(message: dict[str, Any] | None) -> int:
    """Return how often the message was received; 0 if there is none."""
    return int(message["Attributes"]["ApproximateReceiveCount"]) if message else 0


def contents(message: Any) -> Any:
    """Return what makes the message, wherever it lies."""
    system = message["Attributes"]
    kept = system.get("SentTimestamp"), system.get("MessageGroupId")
    attributes = {
        name: {part: value[part] for part in ("DataType", "StringValue")}
        for name, value in message["MessageAttributes"].items()
    }
    return message["MessageId"], message["Body"], attributes, kept


class TestReceiving(OnEveryBackend):
    """ReceiveMessage API reference; developer guide, "Visibility timeout"."""

    def test_receive_message_shows_what_was_sent(self, backend: Backend) -> None:
        """Body, attributes and group are unchanged, under the id that sending gave."""
        message_id = send(backend)

        received = receive(backend)

        assert received is not None
        assert contents(received)[:3] == (message_id, BODY, ATTRIBUTES)
        assert received["Attributes"]["MessageGroupId"] == "PROJ"

    def test_receive_message_counts_when_the_message_comes_back(
        self, backend: Backend
    ) -> None:
        """Each receive is one more."""
        send(backend)

        first, second = receive(backend, hidden_seconds=0), receive(backend)

        assert (receive_count(first), receive_count(second)) == (1, 2)

    def test_receive_message_hides_the_message_until_its_timeout(
        self, backend: Backend
    ) -> None:
        """A message that is not deleted comes back, under the same id."""
        message_id = send(backend)
        receive(backend, hidden_seconds=HIDDEN_SECONDS)

        hidden = receive(backend)
        backend.wait(HIDDEN_SECONDS + 0.1)
        again = receive(backend)

        assert hidden is None
        assert again is not None
        assert (again["MessageId"], receive_count(again)) == (message_id, 2)

    def test_receive_message_shows_nothing_when_the_message_was_deleted(
        self, backend: Backend
    ) -> None:
        """Deleted is deleted."""
        send(backend)
        message = receive(backend, hidden_seconds=0)
        assert message is not None

        backend.sqs.delete_message(
            QueueUrl=backend.source, ReceiptHandle=message["ReceiptHandle"]
        )

        assert receive(backend) is None


class TestRedrivePolicy(OnEveryBackend):
    """Developer guide, "Using dead-letter queues in Amazon SQS"."""

    def give_up(self, backend: Backend) -> list[Any]:
        """Receive until the message is moved away; return what was seen."""
        return [receive(backend, hidden_seconds=0) for _ in range(3)]

    def test_message_is_moved_when_it_was_received_too_often(
        self, backend: Backend
    ) -> None:
        """After maxReceiveCount receives, which is two here, the next sees nothing."""
        send(backend)

        seen = self.give_up(backend)

        assert [receive_count(each) for each in seen] == [1, 2, 0]
        assert receive(backend, backend.dead) is not None

    def test_message_is_itself_when_it_was_moved(self, backend: Backend) -> None:
        """Id, body, attributes, group, and time of the first sending."""
        send(backend)

        first, *_ = self.give_up(backend)
        moved = receive(backend, backend.dead)

        assert contents(moved) == contents(first)

    def test_receive_count_goes_on_when_the_message_was_moved(
        self, backend: Backend
    ) -> None:
        """ApproximateReceiveCount is counted "across all queues"."""
        send(backend)
        self.give_up(backend)

        moved = receive(backend, backend.dead)

        assert receive_count(moved) == backend.expected(3)
