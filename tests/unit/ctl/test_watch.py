"""A watch reads, filters, prints and cleans up, without a service."""

import json
from dataclasses import replace
from typing import Final

import pytest
from botocore.exceptions import ClientError

from operators.model_services import ModelServices
from simulation.aws.errors import ServiceError
from tests.support.canned_aws import client_error, failing
from tests.support.ctl_process import canned_stack
from ticketctl.aws.announcements import line_of, read_announcement
from ticketctl.aws.queues import Received, take
from ticketctl.aws.stack import Stack
from ticketctl.aws.topic import subscribe_queue
from ticketctl.cli.errors import CloudError
from ticketctl.watch.watching import (
    MAX_AGE_SECONDS,
    name_start,
    remove_leftovers,
    temporary_queue,
)

TOPIC_ARN: Final = "arn:aws-cn:sns:cn-north-1:123456789012:assignments"
QUEUES: Final = "arn:aws-cn:sqs:cn-north-1:123456789012"
NOW: Final = 1_795_000_000


def stack_on(services: ModelServices, topic_arn: str = TOPIC_ARN) -> Stack:
    outputs = {"AssignmentsTopicArn": topic_arn}
    return canned_stack(outputs, sqs=services.sqs, sns=services.sns)


def deny() -> None:
    raise client_error("AuthorizationError")


def raw(body: str) -> Received:
    """Return a message as SNS delivers it raw."""
    return Received("m-1", body)


class TestAnnouncementsAreRead:
    """Anything else is not taken for one."""

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


@pytest.mark.usefixtures("no_delay")
class TestTemporaryQueue:
    """It is the watch's alone, known by its name, and gone when the watch has ended."""

    @pytest.mark.parametrize("suffix", ["", ".fifo"])
    def test_queue_is_subscribed_for_a_while_when_all_is_well(
        self, suffix: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The policy lets in this topic alone, and messages stay for an hour."""
        services = ModelServices()
        others = dict(services.queues)
        pauses: list[tuple[float, int, int]] = []

        def pause(seconds: float) -> None:
            there = len(services.queues) - len(others), len(services.subscriptions)
            pauses.append((seconds, *there))

        monkeypatch.setattr("time.sleep", pause)
        stack = stack_on(services, TOPIC_ARN + suffix)

        with temporary_queue(stack) as queue_url:
            [created] = services.sqs.requests["create_queue"]
            [subscribed] = services.sns.requests["subscribe"]
            name, arn = created["QueueName"], subscribed["Endpoint"]
            assert queue_url.endswith(f"/{name}")
            assert {*services.queues} - {*others} == {name}
            assert [*services.subscriptions.values()] == [arn] == [f"{QUEUES}:{name}"]

        assert pauses == [(1, 1, 0)]  # CreateQueue API: "wait at least one second".
        attributes = created["Attributes"]
        [statement] = json.loads(attributes["Policy"])["Statement"]
        assert name.endswith(suffix)
        assert statement["Resource"] == arn
        assert statement["Condition"]["ArnEquals"]["aws:SourceArn"].endswith(suffix)
        assert attributes["MessageRetentionPeriod"] == "3600"
        assert ("FifoQueue" in attributes) == bool(suffix)
        assert subscribed["ReturnSubscriptionArn"] is True
        assert (services.queues, services.subscriptions) == (others, {})

    def test_nothing_is_made_when_it_could_not_be_removed(self) -> None:
        services = ModelServices()
        services.sns.before["unsubscribe"] = [deny]
        stack = stack_on(services)

        with pytest.raises(ClientError, match="Auth"), temporary_queue(stack):
            pass

        assert not services.sqs.requests

    @pytest.mark.parametrize(
        "refused", ["subscribe", "unsubscribe", "list_subscriptions_by_topic"]
    )
    def test_queue_is_deleted_when_something_else_is_refused(
        self, refused: str
    ) -> None:
        """One failure does not leave two things behind; leftovers are no failure."""
        services = ModelServices()
        others = dict(services.queues)
        services.sns.before |= {refused: [deny], "unsubscribe": [lambda: None, deny]}

        with (
            pytest.raises(ClientError, match="AuthorizationError"),
            temporary_queue(stack_on(services)),
        ):
            pass

        assert services.sqs.requests["create_queue"]
        assert services.queues == others

    @pytest.mark.parametrize(
        "first", [True, False], ids=["in the middle", "at the end"]
    )
    def test_first_failure_is_raised_and_the_rest_named_when_credentials_expire(
        self, capsys: pytest.CaptureFixture[str], *, first: bool
    ) -> None:
        services = ModelServices()
        stack = stack_on(services)
        expired = failing(client_error("ExpiredToken"))
        services.sns.before["unsubscribe"] = [lambda: None, expired]
        services.sqs.before["delete_queue"] = [expired]
        act = failing(client_error("Receiving")) if first else int

        with (
            pytest.raises(ClientError, match="Receiving" if first else "Expired"),
            temporary_queue(stack) as queue_url,
        ):
            act()

        [arn] = services.subscriptions
        said = capsys.readouterr().err
        assert f"unsubscribe --subscription-arn {arn}\n" in said
        assert f"delete-queue --queue-url {queue_url}\n" in said

    @pytest.mark.parametrize("length", [1, 57, 128])
    def test_name_fits_when_the_stacks_name_is_long(self, length: int) -> None:
        """SQS allows 80 characters, the suffix of FIFO queues among them."""
        stack = replace(canned_stack({}), name="s" * length)
        start = name_start(stack)

        assert len(f"{start}{NOW}-00c0ffee.fifo") <= 80

    def test_queue_and_subscription_are_removed_when_they_are_over_a_day_old(
        self,
    ) -> None:
        """Younger ones may be in use; another watch may be faster to remove them."""
        old = f"numbers-watch-{NOW - MAX_AGE_SECONDS - 1}-00c0ffee"
        others = [
            f"numbers-watch-{NOW - MAX_AGE_SECONDS + 1}-00c0ffee",
            f"numbers-watch-watch-{NOW - 2 * MAX_AGE_SECONDS}-00c0ffee",
            f"{old}-dlq",
            "numbers-watch-queue",
        ]
        services = ModelServices()
        stack = stack_on(services)
        queues, subscriptions = services.queues, services.subscriptions
        queues.clear()
        for name in (*others, f"{old}.fifo", old):
            services.create_queue(name)
            subscribe_queue(stack, f"{QUEUES}:{name}")
        services.sqs.before["delete_queue"] = [queues.popitem]
        services.sns.before["unsubscribe"] = [subscriptions.popitem]

        remove_leftovers(stack, NOW)

        assert [*queues] == others
        assert [*subscriptions.values()] == [f"{QUEUES}:{name}" for name in others]


class TestTake:
    """A batch of deletions answers 200 and lists the failures."""

    @pytest.mark.parametrize("by_sender", [True, False])
    def test_take_fails_when_sqs_will_never_delete(self, *, by_sender: bool) -> None:
        """Such a message would come for ever; by a fault of SQS's it comes again."""
        services = ModelServices()
        queue = services.queues["source"]
        message = queue.send("{}")

        def refuse(_: object) -> None:
            raise ServiceError("Invalid", status=400 if by_sender else 500)

        queue.on_delete = refuse

        if by_sender:
            with pytest.raises(CloudError, match="received message: Invalid"):
                take(stack_on(services), "source")
        else:
            assert take(stack_on(services), "source") == [Received(message.id, "{}")]
