"""A watch reads, filters, prints and cleans up, without a service."""

import json
from collections.abc import Sequence
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from tests.support.canned_aws import aws_client, parameters
from ticket_numbering.contract.field_types import PRIORITIES
from ticketctl.aws.queues import Received, take
from ticketctl.cli.errors import CloudError
from ticketctl.watch.announcements import (
    ASSIGNED,
    REFUSED,
    VOIDED,
    Announcement,
    line_of,
    read_announcement,
)
from ticketctl.watch.temporary_queue import (
    MAX_AGE_SECONDS,
    name_start,
    remove_old,
    temporary_queue,
)
from ticketctl.watch.watching import Screen

TOPIC_ARN: Final = "arn:aws-cn:sns:cn-north-1:123456789012:assignments"
SUBSCRIPTION_ARN: Final = f"{TOPIC_ARN}:1"
NOW: Final = 1_795_000_000


class FakeSystem:
    """A stack whose services give a test's answers."""

    def __init__(self, name: str = "dev", topic_arn: str = TOPIC_ARN) -> None:
        self.name = name
        self.outputs = {"AssignmentsTopicArn": topic_arn}
        self.sqs, self.sns = Stubber(aws_client("sqs")), Stubber(aws_client("sns"))
        self.asked = {
            "sqs": parameters(self.sqs.client),
            "sns": parameters(self.sns.client),
        }
        self.sqs.activate()
        self.sns.activate()

    def client(self, service_name: str) -> Any:
        return {"sqs": self.sqs, "sns": self.sns}[service_name].client

    def found(self, queues: Sequence[str] = (), subscribed: Sequence[str] = ()) -> None:
        """Let there be these queues, and subscriptions of these."""
        subscriptions = [
            {
                "SubscriptionArn": f"{TOPIC_ARN}:{name}",
                "Endpoint": f"arn:aws-cn:sqs:cn-north-1:123456789012:{name}",
            }
            for name in subscribed
        ]
        self.sns.add_response(
            "list_subscriptions_by_topic", {"Subscriptions": subscriptions}
        )
        urls = [f"https://sqs/1/{name}" for name in queues]
        self.sqs.add_response("list_queues", {"QueueUrls": urls})

    def is_done(self) -> bool:
        self.sqs.assert_no_pending_responses()
        self.sns.assert_no_pending_responses()
        return True


def assigned(number: int = 42, **data: Any) -> dict[str, Any]:
    fields = {"project_id": "P", "ticket_key": f"P-{number}", "priority": "low"}
    return {
        "id": f"P-{number}",
        "type": ASSIGNED,
        "data": {**fields, "title": "Title", **data},
    }


def raw(event: Any, **attributes: str) -> Received:
    """Return a message as SNS delivers it raw."""
    body = event if isinstance(event, str) else json.dumps(event)
    return Received("m-1", body, attributes)


def words(event: Any, **attributes: str) -> list[str]:
    """Return the line of a message without the blanks that fill its columns."""
    return [*filter(None, line_of(raw(event, **attributes)).plain.split(" "))]


class TestAnnouncementsAreRead:
    """Anything else is not taken for one."""

    @pytest.mark.parametrize("replayed", [True, False])
    def test_event_is_read_with_its_mark_of_a_replay(self, *, replayed: bool) -> None:
        message = raw(assigned(), replayed=str(replayed).lower())

        assert read_announcement(message) == Announcement(assigned(), replayed)

    @pytest.mark.parametrize(
        "body",
        [
            "",
            "\ud800",
            "nonsense",
            "[1]",
            "{}",
            '{"id": 7, "type": "t"}',
            '{"id": "i"}',
            '{"id": "i", "type": "t", "data": NaN}',
            '{"id": "i", "type": "t", "data": 1e999}',
            "[" * 100_000,
            '{"id": ' + "9" * 5_000 + "}",
        ],
    )
    def test_message_is_shown_as_it_is_when_it_is_no_announcement(
        self, body: str
    ) -> None:
        """Nothing that lies on a queue can stop a watch."""
        assert read_announcement(raw(body)) is None
        assert line_of(raw(body)).plain.startswith("not an announcement: ")

    @pytest.mark.parametrize(
        ("event", "line"),
        [
            (assigned(), "P-42 P low Title"),
            (
                assigned(title="a\x1b[2J\nb", priority=None),
                "P-42 P - a\N{REPLACEMENT CHARACTER}[2J b",
            ),
            (
                {"id": "e", "type": VOIDED, "data": {"ticket_key": "P-1"}},
                "P-1 voided: -",
            ),
            (
                {
                    "id": "refused/m/SequenceFullError/max_number",
                    "type": REFUSED,
                    "data": {
                        "project_id": "P",
                        "idempotency_key": "k-1",
                        "error_type": "SequenceFullError",
                        "field": "max_number",
                    },
                },
                "refused P SequenceFullError: max_number k-1",
            ),
            (
                {"id": "e", "type": REFUSED, "data": {"error_type": "\x1b[2J"}},
                "refused - \N{REPLACEMENT CHARACTER}[2J: - -",
            ),
            ({"id": "e\x07", "type": "t"}, "e\N{REPLACEMENT CHARACTER} t"),
            ({"id": "e", "type": "t", "data": [1]}, "e t"),
            ({"id": "e", "type": ASSIGNED}, "e - - -"),
        ],
    )
    def test_line_is_safe_and_complete_when_the_event_is_not(
        self, event: dict[str, Any], line: str
    ) -> None:
        assert words(event) == line.split()
        assert words(event, replayed="true") == [*line.split(), "(replay)"]

    def test_titles_stand_below_one_another_whatever_the_priorities_are(self) -> None:
        events = [assigned(priority=priority) for priority in (*PRIORITIES, None)]

        lines = [line_of(raw(event)).plain for event in events]

        assert len({line.index(" Title") for line in lines}) == 1

    def test_screen_shows_what_is_wanted_until_it_is_enough(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        screen = Screen(["P"], left=2)
        others = [raw(assigned(project_id="Q")), raw("nonsense")]

        screen.show([*others, *(raw(assigned(number)) for number in (1, 2, 3))])

        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == ["P-1", "P-2"]
        assert screen.left == 0

    def test_screen_prints_whole_documents_when_json_is_wanted(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Screen(as_json=True).show([raw(assigned(), replayed="true"), raw("nonsense")])

        event, other = map(json.loads, capsys.readouterr().out.splitlines())
        assert event == assigned() | {"replayed": True}
        assert other == {"not_an_announcement": "nonsense"}


class TestTemporaryQueue:
    """It is the watch's alone, known by its name, and gone when the watch has ended."""

    @pytest.mark.parametrize("suffix", ["", ".fifo"])
    def test_queue_is_subscribed_for_a_while_when_all_is_well(
        self, suffix: str
    ) -> None:
        """The policy lets in this topic alone, and messages stay for an hour."""
        system = FakeSystem(topic_arn=TOPIC_ARN + suffix)
        system.sns.add_client_error("unsubscribe", "NotFound")
        system.found()
        system.sqs.add_response("create_queue", {"QueueUrl": "https://q"})
        system.sns.add_response("subscribe", {"SubscriptionArn": SUBSCRIPTION_ARN})
        system.sns.add_response(
            "unsubscribe", {}, {"SubscriptionArn": SUBSCRIPTION_ARN}
        )
        system.sqs.add_response("delete_queue", {}, {"QueueUrl": "https://q"})

        with temporary_queue(system, lambda _: None) as queue_url:
            created, subscribed = system.asked["sqs"][-1], system.asked["sns"][-1]

        assert queue_url == "https://q"
        assert created["QueueName"].endswith(suffix)
        attributes = created["Attributes"]
        [statement] = json.loads(attributes["Policy"])["Statement"]
        arn = f"arn:aws-cn:sqs:cn-north-1:123456789012:{created['QueueName']}"
        assert statement["Resource"] == subscribed["Endpoint"] == arn
        assert statement["Condition"]["ArnEquals"]["aws:SourceArn"].endswith(suffix)
        assert attributes["MessageRetentionPeriod"] == "3600"
        assert ("FifoQueue" in attributes) == bool(suffix)
        assert subscribed["ReturnSubscriptionArn"] is True
        assert system.is_done()

    def test_nothing_is_made_when_it_could_not_be_removed(self) -> None:
        """The error names the right that is missing."""
        system = FakeSystem()
        system.sns.add_client_error("unsubscribe", "AuthorizationError")

        with pytest.raises(ClientError, match="Unsubscribe"), temporary_queue(system):
            pass

        assert system.asked["sqs"] == []

    @pytest.mark.parametrize("refused", ["subscribe", "unsubscribe", "list"])
    def test_queue_is_deleted_when_something_else_is_refused(
        self, refused: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One failure does not leave two things behind; leftovers are no failure."""
        system = FakeSystem()
        system.sns.add_response("unsubscribe", {})
        if refused == "list":
            system.sns.add_client_error("list_subscriptions_by_topic", "AccessDenied")
        else:
            system.found()
        system.sqs.add_response("create_queue", {"QueueUrl": "https://q"})
        if refused == "subscribe":
            system.sns.add_client_error("subscribe", "AccessDenied")
        else:
            system.sns.add_response("subscribe", {"SubscriptionArn": SUBSCRIPTION_ARN})
            system.sns.add_client_error("unsubscribe", "AccessDenied")
        system.sqs.add_response("delete_queue", {}, {"QueueUrl": "https://q"})

        with (
            pytest.raises(ClientError, match="ubscribe"),
            temporary_queue(system, lambda _: None),
        ):
            pass

        assert system.is_done()
        remarks = capsys.readouterr().err
        assert ("leftover queues are not removed" in remarks) == (refused == "list")

    @pytest.mark.parametrize("length", [1, 57, 128])
    def test_name_fits_when_the_stacks_name_is_long(self, length: int) -> None:
        """SQS allows 80 characters, the suffix of FIFO queues among them."""
        start = name_start(FakeSystem(name="s" * length))

        assert len(f"{start}{NOW}-00c0ffee.fifo") <= 80

    def test_queue_and_subscription_are_removed_when_they_are_over_a_day_old(
        self,
    ) -> None:
        """Younger ones may be in use; another watch may be faster to remove them."""
        old = f"dev-watch-{NOW - MAX_AGE_SECONDS - 1}-00c0ffee"
        others = [
            f"dev-watch-{NOW - MAX_AGE_SECONDS + 1}-00c0ffee",
            f"dev-watch-watch-{NOW - 2 * MAX_AGE_SECONDS}-00c0ffee",
            f"{old}-dlq",
            "dev-watch-queue",
        ]
        system = FakeSystem()
        system.found([*others, old], [f"{old}.fifo", *others])
        subscription = {"SubscriptionArn": f"{TOPIC_ARN}:{old}.fifo"}
        system.sns.add_client_error(
            "unsubscribe", "NotFound", expected_params=subscription
        )
        system.sqs.add_client_error(
            "delete_queue",
            "AWS.SimpleQueueService.NonExistentQueue",
            expected_params={"QueueUrl": f"https://sqs/1/{old}"},
        )

        remove_old(system, NOW)

        assert system.is_done()


def delivered(*message_ids: str) -> dict[str, Any]:
    return {
        "Messages": [
            {
                "MessageId": message_id,
                "ReceiptHandle": f"receipt of {message_id}",
                "Body": f"body of {message_id}",
            }
            for message_id in message_ids
        ]
    }


class TestTake:
    """A batch of deletions answers 200 and lists the failures."""

    @pytest.mark.parametrize("by_sender", [True, False])
    def test_take_fails_when_sqs_will_never_delete(self, *, by_sender: bool) -> None:
        """Such a message would come for ever; by a fault of SQS's it comes again."""
        system = FakeSystem()
        system.sqs.add_response("receive_message", delivered("m-1"))
        failed = {"Id": "0", "Code": "Invalid", "SenderFault": by_sender}
        answer: Any = {"Successful": [], "Failed": [failed]}
        system.sqs.add_response("delete_message_batch", answer)

        if by_sender:
            with pytest.raises(CloudError, match="received message: Invalid"):
                take(system, "https://q")
        else:
            assert [message.message_id for message in take(system, "https://q")] == [
                "m-1"
            ]
