"""What a watch reads, chooses, prints and removes, without a service."""

import json
from collections.abc import Sequence
from typing import Any, Final

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from ticketctl.cli.errors import CloudError
from ticketctl.system.queues import delete, received, take
from ticketctl.watch.heard import (
    ASSIGNED,
    VOIDED,
    Filter,
    Heard,
    NotAnAnnouncement,
    announcement,
)
from ticketctl.watch.subscriber_queue import LOOK_COUNT, Look
from ticketctl.watch.temporary_queue import (
    MAX_AGE_SECONDS,
    name_start,
    remove_old,
    temporary_queue,
)
from ticketctl.watch.watching import Screen, line_of

TOPIC_ARN: Final = "arn:aws-cn:sns:cn-north-1:123456789012:assignments"
SUBSCRIPTION_ARN: Final = f"{TOPIC_ARN}:1"
NOW: Final = 1_795_000_000


class FakeSystem:
    """A stack whose services answer what a test says."""

    def __init__(self, name: str = "dev", topic_arn: str = TOPIC_ARN) -> None:
        self.name = name
        self.outputs = {"AssignmentsTopicArn": topic_arn}
        self.calls: list[str] = []
        self.asked: list[dict[str, Any]] = []
        self.stubs = {name: Stubber(self._client(name)) for name in ("sqs", "sns")}
        for stub in self.stubs.values():
            stub.activate()

    def _client(self, service_name: str) -> Any:
        create: Any = boto3.client
        client = create(
            service_name,
            region_name="cn-north-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries={"total_max_attempts": 1}),
        )

        def remember(params: dict[str, Any], model: Any, **_: Any) -> None:
            self.calls.append(model.name)
            self.asked.append(params)

        client.meta.events.register("provide-client-params.*.*", remember)
        return client

    def client(self, service_name: str) -> Any:
        return self.stubs[service_name].client

    def found(self, queues: Sequence[str] = (), subscribed: Sequence[str] = ()) -> None:
        """Let there be these queues, and subscriptions of these."""
        subscriptions = [
            {
                "SubscriptionArn": f"{TOPIC_ARN}:{name}",
                "Endpoint": f"arn:aws-cn:sqs:cn-north-1:123456789012:{name}",
            }
            for name in subscribed
        ]
        self.stubs["sns"].add_response(
            "list_subscriptions_by_topic", {"Subscriptions": subscriptions}
        )
        urls = [f"https://sqs/1/{name}" for name in queues]
        self.stubs["sqs"].add_response("list_queues", {"QueueUrls": urls})

    def everything_is_done(self) -> bool:
        for stub in self.stubs.values():
            stub.assert_no_pending_responses()
        return True


def assigned(number: int = 42, **data: Any) -> dict[str, Any]:
    """Return an event."""
    fields = {"project_id": "P", "ticket_key": f"P-{number}", "priority": "low"}
    return {
        "id": f"P-{number}",
        "type": ASSIGNED,
        "data": {**fields, "title": "Title", **data},
    }


def delivered(body: Any, message_id: str = "m-1", **attributes: str) -> dict[str, Any]:
    """Return a message as SQS gives it."""
    return {
        "MessageId": message_id,
        "ReceiptHandle": f"receipt of {message_id}",
        "Body": body if isinstance(body, str) else json.dumps(body),
        "MessageAttributes": {
            name: {"StringValue": value, "DataType": "String"}
            for name, value in attributes.items()
        },
    }


def enveloped(event: Any, **attributes: str) -> dict[str, Any]:
    """Return a message in the envelope of SNS."""
    values = {
        name: {"Type": "String", "Value": value} for name, value in attributes.items()
    }
    message = json.dumps(event)
    return delivered(
        {"Type": "Notification", "Message": message, "MessageAttributes": values}
    )


def read(message: dict[str, Any]) -> Heard | NotAnAnnouncement:
    """Read a message as SQS gives it."""
    found = received(message)
    return announcement(found.body, found.attributes)


class TestAnnouncementsAreRead:
    """Delivered raw or enveloped; anything else is not taken for one."""

    @pytest.mark.parametrize("way", [delivered, enveloped])
    @pytest.mark.parametrize("replayed", [True, False])
    def test_event_is_read_when_delivered_either_way(
        self, way: Any, *, replayed: bool
    ) -> None:
        message = way(assigned(), replayed=str(replayed).lower())

        assert read(message) == Heard(assigned(), replayed)

    @pytest.mark.parametrize(
        "body",
        [
            "",
            "nonsense",
            "[1]",
            "{}",
            '{"id": 7, "type": "t"}',
            '{"id": "i"}',
            '{"id": "i", "type": "t", "data": NaN}',
            '{"id": "i", "type": "t", "data": 1e999}',
            "[" * 100_000,
            '{"id": ' + "9" * 5_000 + "}",
            '{"Type": "Notification", "Message": "nonsense"}',
            '{"Type": "Notification", "Message": 7, "MessageAttributes": 7}',
        ],
    )
    def test_body_is_kept_when_it_is_no_announcement(self, body: str) -> None:
        """Nothing that lies on a queue can stop a watch."""
        assert read(delivered(body)) == NotAnAnnouncement(body)

    @pytest.mark.parametrize("attributes", [7, None, {"replayed": 7}, {"replayed": {}}])
    def test_event_is_no_replay_when_its_envelope_is_odd(self, attributes: Any) -> None:
        envelope = {
            "Type": "Notification",
            "Message": json.dumps(assigned()),
            "MessageAttributes": attributes,
        }

        assert read(delivered(envelope)) == Heard(assigned(), replayed=False)

    @pytest.mark.parametrize(
        ("wanted", "fits"),
        [
            (Filter(), True),
            (Filter(["P"], ["low"]), True),
            (Filter(["Q"]), False),
            (Filter((), ["high"]), False),
            (Filter(["P"], ["urgent"]), False),
        ],
    )
    def test_announcement_is_chosen_by_project_and_priority(
        self, wanted: Filter, *, fits: bool
    ) -> None:
        assert wanted.lets_through(read(delivered(assigned()))) is fits
        assert wanted.lets_through(NotAnAnnouncement("x"))

    def test_filter_goes_by_the_attributes_when_the_fact_does_not_say(self) -> None:
        """As SNS does: a voided ticket's priority stands there alone."""
        event = {"id": "v", "type": VOIDED, "data": {"project_id": ["odd"]}}
        found = read(delivered(event, priority="high"))

        assert Filter(priorities={"high"}).lets_through(found)
        assert not Filter(priorities={"low"}).lets_through(found)
        assert not Filter(projects={"odd"}).lets_through(found)


def refuse_to_unsubscribe(system: FakeSystem) -> None:
    system.stubs["sns"].add_client_error("unsubscribe", "AuthorizationError")


class TestTemporaryQueue:
    """It is the watch's alone, known by its name, and gone when the watch has ended."""

    @pytest.mark.parametrize("suffix", ["", ".fifo"])
    def test_queue_is_subscribed_for_a_while_when_all_is_well(
        self, suffix: str
    ) -> None:
        """The policy lets in this topic alone, and messages stay for an hour."""
        system = FakeSystem(topic_arn=TOPIC_ARN + suffix)
        sqs, sns = system.stubs["sqs"], system.stubs["sns"]
        sns.add_client_error("unsubscribe", "NotFound")
        system.found()
        sqs.add_response("create_queue", {"QueueUrl": "https://q"})
        sns.add_response("subscribe", {"SubscriptionArn": SUBSCRIPTION_ARN})
        sns.add_response("unsubscribe", {}, {"SubscriptionArn": SUBSCRIPTION_ARN})
        sqs.add_response("delete_queue", {}, {"QueueUrl": "https://q"})

        with temporary_queue(system, lambda _: None) as queue_url:
            created, subscribed = system.asked[-2:]

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
        assert system.everything_is_done()

    def test_nothing_is_made_when_it_could_not_be_removed(self) -> None:
        """The error names the right that is missing."""
        system = FakeSystem()
        refuse_to_unsubscribe(system)

        with pytest.raises(ClientError, match="Unsubscribe"), temporary_queue(system):
            pass

        assert system.calls == ["Unsubscribe"]

    def test_queue_is_deleted_when_it_cannot_be_subscribed(self) -> None:
        system = FakeSystem()
        sqs, sns = system.stubs["sqs"], system.stubs["sns"]
        sns.add_response("unsubscribe", {})
        system.found()
        sqs.add_response("create_queue", {"QueueUrl": "https://q"})
        sns.add_client_error("subscribe", "AuthorizationError")
        sqs.add_response("delete_queue", {}, {"QueueUrl": "https://q"})

        with (
            pytest.raises(ClientError, match="Subscribe"),
            temporary_queue(system, lambda _: None),
        ):
            pass

        assert system.everything_is_done()

    def test_queue_is_deleted_when_the_subscription_cannot_be_removed(self) -> None:
        """One failure does not leave two things behind."""
        system = FakeSystem()
        sqs, sns = system.stubs["sqs"], system.stubs["sns"]
        sns.add_response("unsubscribe", {})
        system.found()
        sqs.add_response("create_queue", {"QueueUrl": "https://q"})
        sns.add_response("subscribe", {"SubscriptionArn": SUBSCRIPTION_ARN})
        sns.add_client_error("unsubscribe", "InternalError")
        sqs.add_response("delete_queue", {}, {"QueueUrl": "https://q"})

        with (
            pytest.raises(ClientError, match="InternalError"),
            temporary_queue(system, lambda _: None),
        ):
            pass

        assert system.everything_is_done()

    @pytest.mark.parametrize("length", [1, 57, 128])
    def test_name_fits_when_the_stacks_name_is_long(self, length: int) -> None:
        """SQS allows 80 characters, the suffix of FIFO queues among them."""
        start = name_start(FakeSystem(name="s" * length))

        assert len(f"{start}{NOW}-00c0ffee.fifo") <= 80

    def test_queue_and_subscription_are_removed_when_they_are_over_a_day_old(
        self,
    ) -> None:
        """Younger ones may be in use, and other names are not ours."""
        old = f"dev-watch-{NOW - MAX_AGE_SECONDS - 1}-00c0ffee"
        others = [
            f"dev-watch-{NOW - MAX_AGE_SECONDS + 1}-00c0ffee",
            f"dev-watch-watch-{NOW - 2 * MAX_AGE_SECONDS}-00c0ffee",
            f"{old}-dlq",
            "dev-watch-queue",
        ]
        system = FakeSystem()
        system.found([*others, old], [f"{old}.fifo", *others])
        system.stubs["sns"].add_response(
            "unsubscribe", {}, {"SubscriptionArn": f"{TOPIC_ARN}:{old}.fifo"}
        )
        system.stubs["sqs"].add_response(
            "delete_queue", {}, {"QueueUrl": f"https://sqs/1/{old}"}
        )

        remove_old(system, NOW)

        assert system.everything_is_done()


def give_back(*message_ids: str) -> dict[str, Any]:
    """Return what SQS is asked to make visible again."""
    return {
        "QueueUrl": "https://q",
        "Entries": [
            {
                "Id": str(place),
                "ReceiptHandle": f"receipt of {message_id}",
                "VisibilityTimeout": 0,
            }
            for place, message_id in enumerate(message_ids)
        ],
    }


class TestLook:
    """A look at a subscriber's queue takes nothing away."""

    def test_look_ends_and_gives_back_when_it_sees_nothing_new(self) -> None:
        """A message that was received twice is shown, and given back, once."""
        system = FakeSystem()
        sqs = system.stubs["sqs"]
        first, second = delivered("a", "m-1"), delivered("b", "m-2")
        sqs.add_response("receive_message", {"Messages": [first]})
        sqs.add_response("receive_message", {"Messages": [first, second]})
        sqs.add_response("receive_message", {"Messages": [first]})
        answer: Any = {"Successful": [], "Failed": []}
        sqs.add_response(
            "change_message_visibility_batch", answer, give_back("m-1", "m-2")
        )
        look = Look(system.client("sqs"), "https://q")

        assert [message.body for message in look.messages()] == ["a", "b"]
        look.give_back()

        assert system.everything_is_done()

    def test_look_ends_when_it_has_seen_enough(self) -> None:
        system = FakeSystem()
        for batch in range(LOOK_COUNT // 10):
            messages = [delivered("x", f"{batch}-{place}") for place in range(10)]
            system.stubs["sqs"].add_response("receive_message", {"Messages": messages})
        look = Look(system.client("sqs"), "https://q")

        assert len([*look.messages()]) == LOOK_COUNT


class TestFailedEntriesAreSeen:
    """A batch of deletions answers 200 and lists what it did not do."""

    def test_delete_fails_when_the_fault_is_the_senders(self) -> None:
        """Such a message would come for ever."""
        system = FakeSystem()
        refuse_to_delete(system, by_sender=True)

        with pytest.raises(CloudError, match="that was taken: Invalid: no"):
            delete(system.client("sqs"), "https://q", [delivered("")])

    def test_delete_goes_on_when_the_fault_is_of_sqs(self) -> None:
        """The message comes again."""
        system = FakeSystem()
        refuse_to_delete(system, by_sender=False)

        delete(system.client("sqs"), "https://q", [delivered("")])

    def test_take_fails_when_sqs_does_not_delete(self) -> None:
        """What is taken again would look like a repeat of the system's."""
        system = FakeSystem()
        answer = {"Messages": [delivered("")]}
        system.stubs["sqs"].add_response("receive_message", answer)
        refuse_to_delete(system, by_sender=True)

        with pytest.raises(CloudError, match="that was taken: Invalid: no"):
            take(system, "https://q")


def refuse_to_delete(system: FakeSystem, *, by_sender: bool) -> None:
    failed = {"Id": "0", "Code": "Invalid", "Message": "no", "SenderFault": by_sender}
    answer: Any = {"Successful": [], "Failed": [failed]}
    system.stubs["sqs"].add_response("delete_message_batch", answer)


class TestLines:
    """One line for each message, and nothing that takes hold of the terminal."""

    @pytest.mark.parametrize(
        ("event", "line"),
        [
            (assigned(), "P-42         P          low     Title"),
            (
                assigned(title="a\x1b[2J\nb", priority=None),
                "P-42         P          -       a\N{REPLACEMENT CHARACTER}[2J b",
            ),
            (
                {"id": "e", "type": VOIDED, "data": {"ticket_key": "P-1"}},
                "P-1 voided: -",
            ),
            ({"id": "e\x07", "type": "t"}, "e\N{REPLACEMENT CHARACTER}           t"),
            ({"id": "e", "type": "t", "data": [1]}, "e            t"),
            ({"id": "e", "type": ASSIGNED}, "e            -          -       -"),
        ],
    )
    def test_line_is_safe_and_complete_when_the_event_is_not(
        self, event: dict[str, Any], line: str
    ) -> None:
        assert line_of(Heard(event, replayed=False)) == line

    def test_screen_shows_no_more_than_is_wanted(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        screen = Screen(Filter(["P"]), left=2)
        others = delivered(assigned(project_id="Q"))
        messages = [others, *(delivered(assigned(number)) for number in (1, 2, 3))]

        screen.show(map(received, messages))

        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == ["P-1", "P-2"]
        assert screen.left == 0
