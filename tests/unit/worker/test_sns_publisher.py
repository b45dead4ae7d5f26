"""Every number is announced in a form that subscribers can filter and trust."""

import re
from dataclasses import replace
from typing import Any

import pytest

from operators.model_services import ModelServices
from simulation.aws.errors import ServiceError
from tests.support.builders import announcement, create_ticket, plenty
from ticket_numbering.adapters.sns_publisher import MAX_PUBLISH_BYTES, SNSPublisher
from ticket_numbering.contract.attributes import text_attribute
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.errors import AnnouncementError

TOPIC = "arn:aws:sns:eu-west-1:123456789012:assignments"


class Topic:
    """The laboratory's topic, and the publisher on it."""

    def __init__(self, arn: str) -> None:
        self.services = ModelServices()
        self.sns = self.services.sns
        self.publisher = SNSPublisher(self.sns, arn)

    def publish(self, *announcements: Envelope) -> dict[str, AnnouncementError]:
        """Publish with time to spare."""
        return self.publisher.publish(announcements, plenty)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> Topic:
    """Return a topic."""
    return Topic(getattr(request, "param", TOPIC))


on_fifo_topic = pytest.mark.parametrize("topic", [f"{TOPIC}.fifo"], indirect=True)


def assigned(number: int = 1, *, replayed: bool = False, **fields: Any) -> Envelope:
    """Return the announcement of a number."""
    return announcement(create_ticket(**fields), number, replayed=replayed)


def deduplication_ids(topic: Topic) -> list[str]:
    """Return the ids by which a FIFO topic drops entries that it knows."""
    return [entry["MessageDeduplicationId"] for entry in topic.sns.entries]


class TestEntries:
    """An entry holds the event, attributes for filters, and its project as group."""

    @pytest.mark.parametrize("replayed", [False, True])
    def test_publish_sends_the_event_with_its_attributes_and_group(
        self, topic: Topic, *, replayed: bool
    ) -> None:
        announced = assigned(
            replayed=replayed,
            project_id="A.b-1",
            priority="urgent",
            idempotency_key="order-7",
            title="Caf\u00e9 \U0001f6aa",
        )
        assert topic.publish(announced) == {}
        assert MAX_PUBLISH_BYTES == 262_144
        [call] = topic.sns.requests["publish_batch"]
        assert call["TopicArn"] == TOPIC
        [entry] = topic.sns.entries
        attributes = entry["MessageAttributes"]
        assert attributes == {
            "event_type": text_attribute("ticket-numbering.TicketNumberAssigned.v1"),
            "project_id": text_attribute("A.b-1"),
            "priority": text_attribute("urgent"),
            "idempotency_key": text_attribute("order-7"),
            "replayed": text_attribute("true" if replayed else "false"),
        }
        assert entry == {
            "Id": "0",
            "Message": announced.event.model_dump_json(exclude_none=True),
            "MessageAttributes": attributes,
            "MessageGroupId": "A.b-1",
        }

    def test_publish_tells_the_event_that_sns_did_not_take(self, topic: Topic) -> None:
        def refuse(event: Any) -> None:
            if event["id"] == "PROJ-5":
                raise ServiceError("InternalError")

        topic.services.topic.on_publish = refuse

        failures = topic.publish(*[assigned(number) for number in (4, 5, 6)])

        assert list(failures) == ["PROJ-5"]
        assert isinstance(failures["PROJ-5"], AnnouncementError)
        assert str(failures["PROJ-5"]) == "SNS: InternalError"

    def test_publish_sends_nothing_when_time_has_run_out(self, topic: Topic) -> None:
        failures = topic.publisher.publish([assigned()], lambda: 0.0)

        assert list(failures) == ["PROJ-1"]
        assert topic.sns.entries == []


@on_fifo_topic
class TestFifoTopic:
    """SNS drops a repeat by botocore, and no replay."""

    def test_publish_keeps_the_order_and_tells_replays_of_one_event_apart(
        self, topic: Topic
    ) -> None:
        """A repeat within five minutes is announced again."""
        first, second = assigned(1), assigned(2)
        replay = replace(first, replayed=True)
        topic.publish(first, second, replay, replay)

        assert deduplication_ids(topic)[:2] == ["PROJ-1", "PROJ-2"]
        assert len({*deduplication_ids(topic)}) == 4
        assert len({entry["Message"] for entry in topic.sns.entries}) == 2

    def test_publish_keeps_to_what_sns_takes_when_the_event_id_is_longest(
        self, topic: Topic
    ) -> None:
        topic.publish(assigned(10**19, project_id="P._-" * 16, replayed=True))

        [deduplication_id] = deduplication_ids(topic)
        assert re.fullmatch(r"[!-~]{1,128}", deduplication_id)
