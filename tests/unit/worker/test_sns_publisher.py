"""Every number is announced in a form that subscribers can filter and trust."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.stub import ANY, Stubber

from tests.support.builders import create_ticket, plenty
from tests.support.canned_aws import aws_client, parameters
from ticket_numbering.batch_api import attributes_size
from ticket_numbering.errors import AnnouncementError
from ticket_numbering.messages import TicketNumberAssigned
from ticket_numbering.ports import Announcement
from ticket_numbering.sns_publisher import (
    MAX_PUBLISH_BYTES,
    SNSPublisher,
)

TOPIC = "arn:aws:sns:eu-west-1:123456789012:assignments"
FIFO_TOPIC = f"{TOPIC}.fifo"
ASSIGNED_AT = "2026-11-21T06:00:00.000Z"
MAX_ATTRIBUTES = 10


class Topic:
    """A topic that answers as told, and remembers what it was asked."""

    def __init__(self, arn: str = TOPIC) -> None:
        """Put a stub in the network's place."""
        client = aws_client("sns")
        self.arn = arn
        self.calls = parameters(client)
        self.stub = Stubber(client)
        self.publisher = SNSPublisher(client, arn)

    def takes(self, *ids: int, failed: dict[int, str] | None = None) -> None:
        """Expect a call, and take the entries of these ids."""
        failures = [
            {"Id": str(each), "Code": code, "SenderFault": False}
            for each, code in (failed or {}).items()
        ]
        taken = [{"Id": str(each), "MessageId": "m"} for each in ids]
        self.stub.add_response(
            "publish_batch",
            {"Successful": taken, "Failed": failures},
            {"TopicArn": self.arn, "PublishBatchRequestEntries": ANY},
        )

    def refuses(self, code: str, status: int = 400) -> None:
        """Expect a call, and refuse it as a whole."""
        self.stub.add_client_error("publish_batch", code, http_status_code=status)

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Entries of all calls."""
        return [
            entry for call in self.calls for entry in call["PublishBatchRequestEntries"]
        ]


@pytest.fixture
def topic() -> Iterator[Topic]:
    """Return a topic; every call it was told to expect must come."""
    topic = Topic()
    with topic.stub:
        yield topic
        topic.stub.assert_no_pending_responses()


@pytest.fixture
def fifo_topic() -> Iterator[Topic]:
    """Return a FIFO topic, likewise."""
    topic = Topic(FIFO_TOPIC)
    with topic.stub:
        yield topic
        topic.stub.assert_no_pending_responses()


def announcement(
    number: int = 1, *, replayed: bool = False, **fields: Any
) -> Announcement:
    """Return the announcement of a number."""
    request = create_ticket(**fields)
    event = TicketNumberAssigned.of(request, number, ASSIGNED_AT)
    return Announcement(event, replayed)


def text(value: str) -> dict[str, str]:
    """Return a text attribute as SNS takes it."""
    return {"DataType": "String", "StringValue": value}


class TestWhatSubscribersGet:
    """An entry holds the event, what filters need, and the project as its group."""

    def test_announce_publishes_the_event(self, topic: Topic) -> None:
        """The message is the event's JSON, and nothing around it."""
        announced = announcement(title="Caf\u00e9 \U0001f6aa")
        topic.takes(0)

        failures = topic.publisher.publish([announced], plenty)

        (entry,) = topic.entries
        assert failures == {}
        assert entry["Message"] == announced.event.model_dump_json()
        assert json.loads(entry["Message"])["data"]["title"] == "Caf\u00e9 \U0001f6aa"

    def test_announce_sets_the_attributes_that_filter_policies_match(
        self, topic: Topic
    ) -> None:
        """A subscriber chooses by fact, project, priority and repetition."""
        topic.takes(0)

        topic.publisher.publish(
            [announcement(project_id="A.b-1", priority="urgent")], plenty
        )

        assert topic.entries[0]["MessageAttributes"] == {
            "event_type": text("ticket-numbering.TicketNumberAssigned.v1"),
            "project_id": text("A.b-1"),
            "priority": text("urgent"),
            "replayed": text("false"),
        }

    def test_announce_says_so_when_an_event_may_be_a_repetition(
        self, topic: Topic
    ) -> None:
        """The event itself stays the same; only its attribute differs."""
        first = announcement(idempotency_key="order-7")
        again = Announcement(first.event, replayed=True)
        topic.takes(0, 1)

        topic.publisher.publish([first, again], plenty)

        one, other = topic.entries
        assert other["MessageAttributes"]["replayed"] == text("true")
        assert one["Message"] == other["Message"]

    def test_announce_groups_messages_by_project(self, topic: Topic) -> None:
        """Queues that subscribe share their time fairly among projects."""
        topic.takes(0, 1)

        topic.publisher.publish(
            [announcement(project_id=name) for name in ("A", "B")], plenty
        )

        assert [entry["MessageGroupId"] for entry in topic.entries] == ["A", "B"]

    def test_announce_has_few_attributes(self, topic: Topic) -> None:
        """With more than ten, raw delivery to a queue would drop the message."""
        topic.takes(0)

        topic.publisher.publish([announcement()], plenty)

        assert len(topic.entries[0]["MessageAttributes"]) <= MAX_ATTRIBUTES


class TestCalls:
    """As few calls as SNS allows."""

    def test_announce_calls_nothing_when_nothing_was_assigned(
        self, topic: Topic
    ) -> None:
        """No numbers, no call."""
        assert topic.publisher.publish([], plenty) == {}
        assert topic.calls == []

    def test_announce_publishes_a_batch_in_one_call(self, topic: Topic) -> None:
        """Ten numbers cost one request."""
        topic.takes(*range(10))

        topic.publisher.publish(
            [announcement(number) for number in range(1, 11)], plenty
        )

        assert len(topic.calls) == 1

    def test_limit_of_a_call_is_that_of_sns(self) -> None:
        """A topic takes 256 KiB, and refuses one byte more."""
        assert MAX_PUBLISH_BYTES == 262_144

    def test_announce_fits_ten_of_the_largest_events_into_a_call(
        self, topic: Topic
    ) -> None:
        """Bounds of the fields keep every event publishable, attributes included."""
        topic.takes(*range(10))
        largest: dict[str, Any] = {
            "project_id": "p" * 64,
            "idempotency_key": "\\" * 128,
            "title": "\U0001f6aa" * 200,
            "description": "d" * 65_536,
        }

        topic.publisher.publish([announcement(10**20, **largest)] * 10, plenty)

        assert len(topic.calls) == 1
        assert sum(_size(entry) for entry in topic.entries) < MAX_PUBLISH_BYTES / 4


class TestFailures:
    """A number that was not announced is told by its event id."""

    def test_announce_tells_the_event_that_sns_did_not_take(self, topic: Topic) -> None:
        """The neighbours count as announced."""
        topic.takes(0, 2, failed={1: "InternalError"})

        failures = topic.publisher.publish([announcement(n) for n in (4, 5, 6)], plenty)

        assert list(failures) == ["PROJ-5"]
        assert isinstance(failures["PROJ-5"], AnnouncementError)
        assert str(failures["PROJ-5"]) == "SNS: InternalError"

    def test_announce_tells_the_event_that_the_answer_leaves_out(
        self, topic: Topic
    ) -> None:
        """Silence is no success."""
        topic.takes(0)

        failures = topic.publisher.publish([announcement(1), announcement(2)], plenty)

        assert list(failures) == ["PROJ-2"]

    def test_announce_tells_every_event_of_a_throttled_call(self, topic: Topic) -> None:
        """Nothing of the call was published, and the next call has its own try."""
        topic.refuses("Throttled", 429)
        topic.takes(10)

        failures = topic.publisher.publish(
            [announcement(n) for n in range(1, 12)], plenty
        )

        assert list(failures) == [f"PROJ-{number}" for number in range(1, 11)]

    def test_announce_publishes_one_by_one_when_the_call_is_refused(
        self, topic: Topic
    ) -> None:
        """One event that SNS does not take cannot silence its neighbours."""
        topic.refuses("InvalidParameter")
        topic.takes(0)
        topic.refuses("InvalidParameter")

        failures = topic.publisher.publish([announcement(1), announcement(2)], plenty)

        assert list(failures) == ["PROJ-2"]


def _size(entry: dict[str, Any]) -> int:
    message: str = entry["Message"]
    return len(message.encode()) + attributes_size(entry["MessageAttributes"])


class TestFifoTopic:
    """SNS drops what botocore sends twice, and nothing that is to be heard."""

    def test_announce_keeps_the_order_and_the_project_as_group(
        self, fifo_topic: Topic
    ) -> None:
        """What a FIFO topic keeps in order is a group."""
        fifo_topic.takes(0, 1, 2)

        fifo_topic.publisher.publish([announcement(each) for each in (1, 2, 3)], plenty)

        assert [each["MessageGroupId"] for each in fifo_topic.entries] == ["PROJ"] * 3
        assert ids(fifo_topic) == ["PROJ-1", "PROJ-2", "PROJ-3"]

    def test_announce_tells_replays_apart_when_they_are_of_one_event(
        self, fifo_topic: Topic
    ) -> None:
        """Whoever asks again within five minutes hears the number again."""
        announced = [
            announcement(replayed=flag, idempotency_key="order-7")
            for flag in (False, True, True)
        ]
        for _ in announced:
            fifo_topic.takes(0)

        for each in announced:
            fifo_topic.publisher.publish([each], plenty)

        assert len(set(ids(fifo_topic))) == 3
        assert len({each["Message"] for each in fifo_topic.entries}) == 1

    def test_announce_keeps_to_what_sns_takes_when_the_event_id_is_longest(
        self, fifo_topic: Topic
    ) -> None:
        """128 letters, digits and punctuation marks."""
        longest = announcement(10**19, project_id="P._-" * 16, replayed=True)
        fifo_topic.takes(0)

        fifo_topic.publisher.publish([longest], plenty)

        assert all(re.fullmatch(r"[!-~]{1,128}", each) for each in ids(fifo_topic))

    def test_announce_sends_no_such_id_when_the_topic_is_standard(
        self, topic: Topic
    ) -> None:
        """SNS refuses it there."""
        topic.takes(0)

        topic.publisher.publish([announcement(replayed=True)], plenty)

        assert "MessageDeduplicationId" not in topic.entries[0]


def ids(topic: Topic) -> list[str]:
    """Return what the entries are recognized by."""
    return [each["MessageDeduplicationId"] for each in topic.entries]
