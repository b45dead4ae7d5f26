"""What a watch reads, chooses, prints and removes, without a service."""

import json
import signal
from typing import Any, Final

import boto3
import pytest
from botocore.config import Config
from botocore.stub import ANY, Stubber

from tests.support.dead_letter_queue import interrupt
from ticketctl.cli.errors import CloudError
from ticketctl.system.queues import delete, take
from ticketctl.watch.heard import (
    ASSIGNED,
    VOIDED,
    Filter,
    Heard,
    NotAnAnnouncement,
    heard,
)
from ticketctl.watch.listening import Listener
from ticketctl.watch.subscriber_messages import peek
from ticketctl.watch.subscriber_queue import SubscriberQueue
from ticketctl.watch.temporary_names import arn_start, made_at, name_start, new_name
from ticketctl.watch.temporary_queue import TemporaryQueue, make_queue
from ticketctl.watch.watching import Limits, Screen, line_of, watch

TOPIC_ARN: Final = "arn:aws-cn:sns:cn-north-1:123456789012:assignments"


class FakeSystem:
    """A stack whose services answer what a test says."""

    def __init__(self, name: str = "dev", topic_arn: str = TOPIC_ARN) -> None:
        self.name = name
        self.outputs = {"AssignmentsTopicArn": topic_arn}
        self.stubs = {name: Stubber(_client(name)) for name in ("sqs", "sns")}
        for stub in self.stubs.values():
            stub.activate()

    def client(self, service_name: str) -> Any:
        """Return the client of a service."""
        return self.stubs[service_name].client


def _client(service_name: str) -> Any:
    create: Any = boto3.client
    return create(
        service_name,
        region_name="cn-north-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}),
    )


def assigned(number: int = 42, **data: Any) -> dict[str, Any]:
    """Return an event."""
    fields = {"project_id": "P", "ticket_key": f"P-{number}", "priority": "low"}
    return {
        "id": f"P-{number}",
        "type": ASSIGNED,
        "data": {**fields, "title": "Title", **data},
    }


def delivered(body: Any, **attributes: str) -> dict[str, Any]:
    """Return a message as SQS gives it."""
    return {
        "MessageId": "m-1",
        "ReceiptHandle": "r-1",
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
    return delivered(
        {
            "Type": "Notification",
            "Message": event if isinstance(event, str) else json.dumps(event),
            "MessageAttributes": values,
        }
    )


class TestAnnouncementsAreRead:
    """Delivered raw or enveloped; anything else is not taken for one."""

    @pytest.mark.parametrize("way", [delivered, enveloped])
    @pytest.mark.parametrize("replayed", [True, False])
    def test_heard_reads_the_event_when_delivered_either_way(
        self,
        way: Any,
        *,
        replayed: bool,
    ) -> None:
        """The event is as it was published; the mark comes from the attributes."""
        message = way(assigned(), replayed=str(replayed).lower())

        assert heard(message) == Heard(assigned(), replayed)

    @pytest.mark.parametrize(
        "body",
        [
            "",
            "nonsense",
            "[1]",
            "7",
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
    def test_heard_keeps_the_body_when_it_is_no_announcement(self, body: str) -> None:
        """Nothing that lies on a queue can stop a watch."""
        assert heard(delivered(body)) == NotAnAnnouncement(body)

    @pytest.mark.parametrize("attributes", [7, None, {"replayed": 7}, {"replayed": {}}])
    def test_event_is_no_replay_when_its_envelope_is_odd(self, attributes: Any) -> None:
        """An envelope that SNS did not write cannot stop a watch either."""
        envelope = {
            "Type": "Notification",
            "Message": json.dumps(assigned()),
            "MessageAttributes": attributes,
        }

        assert heard(delivered(envelope)) == Heard(assigned(), replayed=False)

    def test_data_is_empty_when_the_event_has_none(self) -> None:
        """An unknown type may hold anything."""
        event = {"id": "x", "type": "t", "data": [1]}

        assert Heard(event, replayed=False).data == {}


class TestOnlyWhatIsWantedIsHeard:
    """SNS filters as far as it can, and the listener lets through the rest."""

    def test_filter_policy_names_everything_when_there_is_room(self) -> None:
        """By the message attributes of the contract."""
        wanted = Filter(["B", "A"], ["low"], [ASSIGNED])

        assert wanted.policy == {
            "event_type": [ASSIGNED],
            "priority": ["low"],
            "project_id": ["A", "B"],
        }
        assert Filter().policy == {}

    @pytest.mark.parametrize(("projects", "fit"), [(75, True), (76, False)])
    def test_filter_policy_leaves_projects_out_when_they_are_too_many(
        self,
        projects: int,
        *,
        fit: bool,
    ) -> None:
        """SNS takes 150 combinations of values."""
        wanted = Filter([f"P{each}" for each in range(projects)], ["low", "high"])

        assert ("project_id" in wanted.policy) is fit
        assert wanted.policy["priority"] == ["high", "low"]

    @pytest.mark.parametrize(
        ("wanted", "fit"),
        [
            (Filter(), True),
            (Filter(["P"], ["low"], [ASSIGNED]), True),
            (Filter(["Q"]), False),
            (Filter((), ["high"]), False),
            (Filter((), (), [VOIDED]), False),
            (Filter(["P"], ["urgent"]), False),
        ],
    )
    def test_listener_filters_too_when_the_policy_is_not_heeded_yet(
        self,
        wanted: Filter,
        *,
        fit: bool,
    ) -> None:
        """A filter policy takes up to a quarter of an hour to take effect."""
        system = FakeSystem()
        sqs = system.stubs["sqs"]
        sqs.add_response("receive_message", {"Messages": [delivered(assigned())]})
        sqs.add_response("delete_message_batch", {"Successful": [], "Failed": []})
        listener = Listener(TemporaryQueue(system, "q", "https://q"), wanted)

        assert [each.event_id for each in listener.poll(20)] == ["P-42"] * fit
        sqs.assert_no_pending_responses()

    def test_subscription_goes_without_a_policy_when_the_topic_has_too_many(
        self,
    ) -> None:
        """The listener filters then, and nobody has to wait for room."""
        system = FakeSystem()
        sns = system.stubs["sns"]
        sns.add_client_error("subscribe", "FilterPolicyLimitExceeded")
        sns.add_response(
            "subscribe",
            {"SubscriptionArn": f"{TOPIC_ARN}:1"},
            {
                "TopicArn": TOPIC_ARN,
                "Protocol": "sqs",
                "Endpoint": ANY,
                "Attributes": {"RawMessageDelivery": "true"},
                "ReturnSubscriptionArn": True,
            },
        )
        sns.add_client_error("get_subscription_attributes", "NotFound")
        sns.add_response(
            "get_subscription_attributes",
            {"Attributes": {"PendingConfirmation": "false"}},
        )
        queue = TemporaryQueue(system, "q", "https://q", _made=0)

        queue.subscribe(Filter(["P"]))

        sns.assert_no_pending_responses()
        assert queue.subscription_arn == f"{TOPIC_ARN}:1"

    def test_filter_goes_by_the_attributes_when_the_fact_does_not_say(self) -> None:
        """As SNS does: a voided ticket's priority stands there alone."""
        message = delivered(
            {"id": "v", "type": VOIDED, "data": {"project_id": ["odd"]}},
            priority="high",
        )
        found = heard(message)

        assert isinstance(found, Heard)
        assert Filter(priorities={"high"}).lets_through(found)
        assert not Filter(priorities={"low"}).lets_through(found)
        assert not Filter(projects={"odd"}).lets_through(found)


class TestTemporaryQueue:
    """It is the listener's alone, and known by its name and tags."""

    @pytest.mark.parametrize("suffix", ["", ".fifo"])
    def test_queue_is_made_with_everything_it_needs_when_the_topic_is_of_a_kind(
        self, suffix: str
    ) -> None:
        """The policy lets in this topic alone, and messages stay for an hour."""
        system = FakeSystem(topic_arn=TOPIC_ARN + suffix)
        asked: dict[str, Any] = {}
        client = system.client("sqs")
        client.meta.events.register(
            "provide-client-params.sqs.CreateQueue",
            lambda params, **_: asked.update(params),
        )
        system.stubs["sqs"].add_response("create_queue", {"QueueUrl": "https://q"})

        queue = make_queue(system)

        attributes, tags = asked["Attributes"], asked["tags"]
        [statement] = json.loads(attributes["Policy"])["Statement"]
        arn = f"arn:aws-cn:sqs:cn-north-1:123456789012:{queue.name}"
        assert statement["Resource"] == arn
        assert statement["Condition"]["ArnEquals"]["aws:SourceArn"].endswith(suffix)
        assert attributes["MessageRetentionPeriod"] == "3600"
        assert ("FifoQueue" in attributes) == bool(suffix)
        assert queue.name.endswith(suffix)
        assert tags["ticketctl:stack"] == "dev"
        assert tags["alive-until"].isdecimal()

    @pytest.mark.parametrize("length", [1, 57, 128])
    def test_name_fits_and_is_known_again_when_the_stacks_name_is_long(
        self, length: int
    ) -> None:
        """SQS allows 80 characters, the suffix of FIFO queues among them."""
        system = FakeSystem(name="s" * length)

        name = new_name(system) + ".fifo"

        assert len(name) <= 80
        assert made_at(system, name) is not None

    @pytest.mark.parametrize(
        "name",
        [
            "dev-watch-watch-1234567890-00c0ffee",
            "dev-watch-1234567890-00c0ffee-dlq",
            "xdev-watch-1234567890-00c0ffee",
            "dev-watch-queue",
        ],
    )
    def test_name_is_not_ours_when_it_only_starts_alike(self, name: str) -> None:
        """A stack may be called `dev-watch`."""
        assert made_at(FakeSystem(), name) is None

    def test_arns_are_beside_the_topic_when_the_partition_is_another(self) -> None:
        """The account, the Region and the partition are the topic's."""
        assert arn_start(FakeSystem()) == "arn:aws-cn:sqs:cn-north-1:123456789012:"
        assert name_start(FakeSystem()) == "dev-watch-"

    def test_tag_is_renewed_when_the_last_time_is_minutes_ago(self) -> None:
        """Once, and not again at the next poll."""
        system = FakeSystem()
        expected = {"QueueUrl": "https://q", "Tags": {"alive-until": ANY}}
        system.stubs["sqs"].add_response("tag_queue", {}, expected)
        queue = TemporaryQueue(system, "q", "https://q", _renewed=0)

        queue.keep_alive()
        queue.keep_alive()

        system.stubs["sqs"].assert_no_pending_responses()

    def test_listener_says_so_when_its_queue_is_gone(self) -> None:
        """Swept, because the computer slept: announcements may be missing."""
        system = FakeSystem()
        code = "AWS.SimpleQueueService.NonExistentQueue"
        system.stubs["sqs"].add_client_error("receive_message", code)
        listener = Listener(TemporaryQueue(system, "q", "https://q"), Filter())

        with pytest.raises(CloudError, match="announcements may be missing"):
            listener.poll(20)

    def test_queue_is_deleted_when_the_subscription_cannot_be_removed(self) -> None:
        """One failure does not leave two things behind."""
        system = FakeSystem()
        system.stubs["sns"].add_client_error("unsubscribe", "InternalError")
        system.stubs["sqs"].add_response("delete_queue", {}, {"QueueUrl": "https://q"})
        queue = TemporaryQueue(system, "q", "https://q", f"{TOPIC_ARN}:1")

        with pytest.raises(system.client("sns").exceptions.ClientError):
            queue.remove()

        system.stubs["sqs"].assert_no_pending_responses()


class TestFailedEntriesAreSeen:
    """A batch of deletions answers 200 and lists what it did not do."""

    def test_delete_fails_when_sqs_will_not(self) -> None:
        """A message that can never be deleted would come for ever."""
        system = FakeSystem()
        _refuse_deletion(system, by_sender=True)

        with pytest.raises(CloudError, match="that was taken: Invalid: no"):
            delete(system.client("sqs"), "https://q", [delivered("")])

    def test_delete_goes_on_when_the_fault_is_of_sqs(self) -> None:
        """The message comes again, and is shown as a repeat."""
        system = FakeSystem()
        _refuse_deletion(system, by_sender=False)

        delete(system.client("sqs"), "https://q", [delivered("")])

    def test_take_fails_when_sqs_does_not_delete(self) -> None:
        """What is taken again would look like a repeat of the system's."""
        system = FakeSystem()
        answer = {"Messages": [delivered("")]}
        system.stubs["sqs"].add_response("receive_message", answer)
        _refuse_deletion(system, by_sender=True)

        with pytest.raises(CloudError, match="that was taken: Invalid: no"):
            take(system, "https://q")


class TestNothingStaysHidden:
    """A look gives back what it got, also what it never saw."""

    @pytest.mark.parametrize("kind", [signal.SIGINT])
    def test_messages_are_given_back_when_a_signal_comes_while_they_are_received(
        self, kind: signal.Signals
    ) -> None:
        """SQS has hidden them, but its answer is still on its way."""
        system = FakeSystem()
        sqs, client = system.stubs["sqs"], system.client("sqs")
        sqs.add_response("receive_message", {"Messages": [delivered("")]})
        entry = {"Id": "0", "ReceiptHandle": "r-1", "VisibilityTimeout": 0}
        sqs.add_response(
            "change_message_visibility_batch",
            {"Successful": [{"Id": "0"}], "Failed": []},
            {"QueueUrl": "https://q", "Entries": [entry]},
        )
        client.meta.events.register(
            "provide-client-params.sqs.ReceiveMessage", lambda **_: interrupt(kind)
        )

        with pytest.raises(KeyboardInterrupt):
            peek(
                SubscriberQueue(client, "https://q", None), Filter(), Screen(), Limits()
            )

        sqs.assert_no_pending_responses()


def _refuse_deletion(system: FakeSystem, *, by_sender: bool) -> None:
    failed = {"Id": "0", "Code": "Invalid", "Message": "no", "SenderFault": by_sender}
    answer = {"Successful": [], "Failed": [failed]}
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
            ({"id": "e", "type": ASSIGNED}, "e            -          -       -"),
        ],
    )
    def test_line_is_safe_and_complete_when_the_event_is_not(
        self, event: dict[str, Any], line: str
    ) -> None:
        """Fields may be missing, or hold what a producer wrote."""
        assert line_of(Heard(event, replayed=False)) == line

    def test_repeats_are_known_by_type_and_id_when_ids_are_alike(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A ticket's assignment and its voiding are two events."""
        screen = Screen()
        for kind, replayed in ((ASSIGNED, False), (VOIDED, False), (ASSIGNED, True)):
            screen.show(Heard(assigned() | {"type": kind}, replayed))

        first, second, third = capsys.readouterr().out.splitlines()
        assert "(repeat)" not in first + second
        assert third.endswith("  (replay)  (repeat)")


class Batches:
    """A source that gives what a test says, and remembers what was asked."""

    def __init__(self, *batches: int | None) -> None:
        self.batches = [*batches]
        self.asked: list[tuple[int, int]] = []

    def receive(
        self, wait_seconds: int, most: int
    ) -> list[Heard | NotAnAnnouncement] | None:
        """Give the next batch, of so many messages."""
        self.asked.append((wait_seconds, most))
        number = self.batches.pop(0)
        return None if number is None else [NotAnAnnouncement("x")] * number

    def shown(self) -> None:
        """Take note."""


class TestLimits:
    """A watch ends when it is enough, and not before."""

    def test_watch_asks_for_no_more_than_is_left_when_counting(self) -> None:
        """What it takes from a subscriber's queue it must show."""
        source = Batches(10, 0, 2)

        assert watch(source, Screen(as_json=True), Limits(count=12))
        assert source.asked == [(20, 10), (20, 2), (20, 2)]

    def test_watch_says_that_fewer_came_when_the_source_ends(self) -> None:
        """Of three messages one came."""
        assert not watch(Batches(1, None), Screen(as_json=True), Limits(count=3))

    def test_watch_waits_no_longer_than_its_time_when_that_is_short(self) -> None:
        """In whole seconds, as SQS counts."""
        source = Batches(0, None)

        assert watch(source, Screen(), Limits(seconds=3))
        assert source.asked[0] == (3, 10)

    def test_watch_does_not_begin_when_no_time_is_left(self) -> None:
        """A limit of nothing is over at once."""
        assert watch(Batches(), Screen(), Limits(seconds=0))
