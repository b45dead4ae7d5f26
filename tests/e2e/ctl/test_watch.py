"""`ticketctl watch`: people hear the numbers, and leave nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl, Ended
from ticketctl.local.stack import LocalStack
from ticketctl.system.queues import subscribe, take
from ticketctl.watch.heard import VOIDED
from ticketctl.watch.temporary_queue import MAX_AGE_SECONDS, arn_start, name_start

pytestmark = pytest.mark.emulator

EXAMPLE = Path(__file__).parents[3] / "docs/examples/subscriber.py"

# So that a watch that hears nothing fails, and does not wait for ever.
SOON = ("--for", "20")

_serial = count(1)


@dataclass(frozen=True)
class Leftovers:
    """The temporary queues of the stack, and the subscriptions of such queues."""

    stack: LocalStack

    @property
    def queues(self) -> set[str]:
        """Their names."""
        answer = self.stack.client("sqs").list_queues(
            QueueNamePrefix=name_start(self.stack)
        )
        return {url.rpartition("/")[2] for url in answer.get("QueueUrls", [])}

    @property
    def subscriptions(self) -> set[str]:
        """The names of the queues that are subscribed."""
        subscribed = self.stack.client("sns").list_subscriptions_by_topic(
            TopicArn=self.stack.outputs["AssignmentsTopicArn"]
        )["Subscriptions"]
        names = {each["Endpoint"].rpartition(":")[2] for each in subscribed}
        return {name for name in names if name.startswith(name_start(self.stack))}

    def remove(self) -> None:
        """Remove all."""
        sqs, sns = self.stack.client("sqs"), self.stack.client("sns")
        for name in self.queues:
            sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName=name)["QueueUrl"])
        for found in sns.list_subscriptions()["Subscriptions"]:
            if name_start(self.stack) in found["Endpoint"]:
                sns.unsubscribe(SubscriptionArn=found["SubscriptionArn"])

    @property
    def nothing(self) -> bool:
        """Whether there is none of either."""
        return not self.queues and not self.subscriptions


@pytest.fixture
def leftovers(deployed: LocalStack) -> Leftovers:
    """Return what listeners have left, nothing at first."""
    leftovers = Leftovers(deployed)
    assert leftovers.nothing
    return leftovers


@dataclass(frozen=True)
class OwnQueue:
    """A subscriber's own queue."""

    stack: LocalStack
    name: str
    url: str

    def put(self, body: str) -> None:
        """Put a message on it that did not come from the topic."""
        self.stack.client("sqs").send_message(QueueUrl=self.url, MessageBody=body)

    def wait_for(self, messages: int) -> None:
        """Wait until so many messages lie on it."""

        def lying() -> int:
            attributes = self.stack.client("sqs").get_queue_attributes(
                QueueUrl=self.url, AttributeNames=["ApproximateNumberOfMessages"]
            )["Attributes"]
            return int(attributes["ApproximateNumberOfMessages"])

        wait_until(lambda: lying() >= messages)

    def take(self) -> list[str]:
        """Take what lies on it and can be received now."""
        taken: list[str] = []
        while found := take(self.stack, self.url):
            taken += [each.body for each in found]
        return taken


@pytest.fixture
def own_queue(deployed: LocalStack, project: str) -> Iterator[OwnQueue]:
    """Return a queue that is subscribed to the test's project."""
    name = f"subscriber-{next(_serial)}"
    policy = json.dumps({"project_id": [project]})
    url = subscribe(deployed, name, policy)
    yield OwnQueue(deployed, name, url)
    sns = deployed.client("sns")
    for each in sns.list_subscriptions()["Subscriptions"]:
        if each["Endpoint"].endswith(f":{name}"):
            sns.unsubscribe(SubscriptionArn=each["SubscriptionArn"])
    deployed.client("sqs").delete_queue(QueueUrl=url)


def wait_until(condition: Callable[[], object]) -> None:
    """Wait for something to become true.

    Raises:
        TimeoutError: It did not.
    """
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.02)


def once_watching(
    system: System, act: Callable[[], object], watch: Callable[[], Ended]
) -> Ended:
    """Watch, and do something as soon as that has begun."""
    leftovers = Leftovers(system.stack)

    def wait_and_act() -> None:
        wait_until(lambda: leftovers.subscriptions)
        act()

    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(wait_and_act)
        ended = watch()
        acting.result()
    return ended


def publish(system: System, body: str, **attributes: str) -> None:
    """Announce something that the worker does not."""
    system.stack.client("sns").publish(
        TopicArn=system.stack.outputs["AssignmentsTopicArn"],
        Message=body,
        MessageAttributes={
            name: {"DataType": "String", "StringValue": value}
            for name, value in attributes.items()
        },
    )


def voided(project: str) -> str:
    """Return what is announced of a voided ticket."""
    data = {"project_id": project, "ticket_key": f"{project}-42", "reason": "Spam"}
    return json.dumps({"id": f"{project}-42/voided", "type": VOIDED, "data": data})


@contextmanager
def watching(ctl: Ctl, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run `ticketctl watch` as a process, from when it hears the topic."""
    with subprocess.Popen(  # noqa: S603 - our own program.
        [sys.executable, "-m", "ticketctl", "watch", *arguments],
        env=process_environment(ctl),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            assert "watching" in process.stderr.readline()
            yield process
        finally:
            process.kill()


def process_environment(ctl: Ctl) -> dict[str, str]:
    """Return the whole environment of a process that meets the system."""
    environment = {**os.environ, **ctl.environment}
    return {name: value for name, value in environment.items() if value is not None}


class TestNumbersAreHeard:
    """What is announced from the start on is shown, and what was asked for alone."""

    def test_watch_shows_each_number_of_the_chosen_project_when_announced(
        self, system: System, project: str, ctl: Ctl
    ) -> None:
        """A line each, with key, project, priority and title; it ends after two."""
        first, other, second = (
            ticket_fields(project, title="Log\u202ein [red]page[/]", priority="high"),
            ticket_fields(f"{project}-other", priority="high"),
            ticket_fields(project, title="Second"),
        )
        low = ticket_fields(project, priority="low")
        chosen = ("--project", project, "--priority", "high", "--priority", "medium")

        ended = once_watching(
            system,
            lambda: system.send(other, first, second, low),
            lambda: ctl("watch", *chosen, "--count", "2", *SOON),
        )

        lines = sorted(line.split(maxsplit=3) for line in ended.out.splitlines())
        assert {line[1] for line in lines} == {project}
        assert {(line[2], line[3]) for line in lines} == {
            ("high", "Log\N{REPLACEMENT CHARACTER}in [red]page[/]"),
            ("medium", "Second"),
        }
        assert ended.status == 0

    def test_watch_marks_replays_when_a_message_is_sent_again(
        self, system: System, project: str, ctl: Ctl
    ) -> None:
        message = ticket_fields(project)

        def send_twice() -> None:
            system.send(message)
            system.wait_for(lambda: system.events(project))
            system.send(message)

        ended = once_watching(
            system,
            send_twice,
            lambda: ctl("watch", "--project", project, "--count", "2", *SOON),
        )

        first, second = ended.out.splitlines()
        assert "(" not in first
        assert second == f"{first}  (replay)"

    def test_watch_shows_what_it_does_not_know_when_others_announce_it(
        self, system: System, project: str, ctl: Ctl
    ) -> None:
        """Voided tickets, events of another type, and what is no event at all."""
        unknown = json.dumps({"id": "x-1", "type": "other.v9", "data": [1]})

        def announce() -> None:
            for body in (voided(project), unknown, "no JSON [bold]", '{"id": NaN}'):
                publish(system, body, event_type="test")

        ended = once_watching(
            system, announce, lambda: ctl("watch", "--count", "4", *SOON)
        )

        assert set(ended.out.splitlines()) == {
            f"{project}-42 voided: Spam",
            "x-1          other.v9",
            "not an announcement: no JSON [bold]",
            'not an announcement: {"id": NaN}',
        }

    def test_watch_shows_whole_events_when_json_is_wanted(
        self, system: System, project: str, ctl: Ctl
    ) -> None:
        """Voided tickets too; and nothing but events on standard output."""

        def announce() -> None:
            publish(system, voided(project), event_type=VOIDED, project_id=project)

        ended = once_watching(
            system,
            announce,
            lambda: ctl("watch", "--project", project, "--count", "1", "--json", *SOON),
        )

        assert ended.json_lines == [json.loads(voided(project)) | {"replayed": False}]
        assert ended.err == "watching; Ctrl-C ends it\n"


class TestNothingIsLeft:
    """The queue and the subscription are gone when the watch has ended."""

    def test_nothing_is_left_when_the_time_is_over(
        self, ctl: Ctl, project: str, leftovers: Leftovers
    ) -> None:
        """Status 1 says that fewer came than were to: scripts wait for a number."""
        ended = ctl("watch", "--project", project, "--count", "1", "--for", "1")

        assert (ended.status, ended.out) == (1, "")
        assert leftovers.nothing

    @pytest.mark.parametrize(
        ("kind", "options", "status"),
        [
            (signal.SIGINT, (), 0),
            (signal.SIGTERM, (), 0),
            (signal.SIGINT, ("--count", "5"), 1),
        ],
    )
    def test_nothing_is_left_when_a_signal_ends_it(
        self,
        ctl: Ctl,
        leftovers: Leftovers,
        kind: signal.Signals,
        options: tuple[str, ...],
        status: int,
    ) -> None:
        """Ctrl-C is the way to end it, unless it was to wait for so many; as `kill`."""
        with watching(ctl, *options) as process:
            process.send_signal(kind)
            out, err = process.communicate(timeout=30)

        assert (process.returncode, out, err) == (status, "", "")
        assert leftovers.nothing

    def test_next_one_removes_what_is_left_when_it_is_over_a_day_old(
        self, deployed: LocalStack, ctl: Ctl, leftovers: Leftovers
    ) -> None:
        """Of a watch that was killed; a younger one may be alive."""
        now = int(time.time())
        old, young = (
            f"{name_start(deployed)}{made}-00c0ffee"
            for made in (now - MAX_AGE_SECONDS - 60, now)
        )
        sns = deployed.client("sns")
        for name in (old, young):
            deployed.client("sqs").create_queue(QueueName=name)
            sns.subscribe(
                TopicArn=deployed.outputs["AssignmentsTopicArn"],
                Protocol="sqs",
                Endpoint=arn_start(deployed) + name,
            )

        ended = ctl("watch", "--for", "1")

        assert (ended.status, ended.out) == (0, "")
        assert leftovers.queues == leftovers.subscriptions == {young}
        leftovers.remove()


class TestSubscriberKeepsItsMessages:
    """A look at a subscriber's own queue takes nothing away."""

    def test_peek_shows_everything_and_gives_it_back_when_it_ends(
        self, system: System, project: str, ctl: Ctl, own_queue: OwnQueue
    ) -> None:
        """More than one batch, something that is no announcement among it."""
        system.send(*[ticket_fields(project) for _ in range(12)])
        own_queue.put("nonsense")
        own_queue.wait_for(13)

        look = ctl("watch", "--from", own_queue.name)

        lines = look.out.splitlines()
        assert len(lines) == 13
        assert "not an announcement: nonsense" in lines
        assert {line.split()[0] for line in lines} == {
            *(f"{project}-{number}" for number in range(1, 13)),
            "not",
        }
        assert look.status == 0
        assert len(own_queue.take()) == 13

    def test_peek_leaves_everything_when_only_some_is_shown(
        self, system: System, project: str, ctl: Ctl, own_queue: OwnQueue
    ) -> None:
        """Neither --count nor a choice of messages takes something away."""
        messages = [ticket_fields(project, priority=each) for each in ("low", "high")]
        system.send(*messages)
        own_queue.wait_for(2)

        chosen = ctl("watch", "--from", own_queue.name, "--priority", "high", "--json")
        one = ctl("watch", "--from", own_queue.url, "--count", "1")

        assert [each["data"]["priority"] for each in chosen.json_lines] == ["high"]
        assert len(one.out.splitlines()) == 1
        assert len(own_queue.take()) == 2

    @pytest.mark.parametrize(
        ("deliveries", "status", "said"),
        [(1, 2, "error: its messages are dead-lettered after one"), (5, 0, "after 5")],
    )
    def test_peek_is_refused_when_it_would_be_the_only_delivery(
        self, ctl: Ctl, own_queue: OwnQueue, deliveries: int, status: int, said: str
    ) -> None:
        """The redrive policy would take the message from the subscriber."""
        set_max_receive_count(own_queue, deliveries)

        ended = ctl("watch", "--from", own_queue.name)

        assert (ended.status, ended.out) == (status, "")
        assert said in ended.err


def set_max_receive_count(queue: OwnQueue, number: int) -> None:
    """Give the queue a redrive policy."""
    policy = {
        "deadLetterTargetArn": queue.stack.outputs["DeadLetterQueueArn"],
        "maxReceiveCount": str(number),
    }
    queue.stack.client("sqs").set_queue_attributes(
        QueueUrl=queue.url, Attributes={"RedrivePolicy": json.dumps(policy)}
    )


class TestMistakesAreToldInALine:
    """What cannot work is refused with one line that says what to do."""

    @pytest.mark.parametrize(
        ("arguments", "status", "said"),
        [
            (("--from", "no-such-queue"), 1, "no queue no-such-queue"),
            (("--project", "A B"), 2, "no project id: 'A B'"),
        ],
    )
    def test_watch_ends_with_a_line_when_it_cannot_work(
        self, ctl: Ctl, arguments: tuple[str, ...], status: int, said: str
    ) -> None:
        """No traceback, and nothing printed as a result."""
        ended = ctl("watch", *arguments)

        assert (ended.status, ended.out) == (status, "")
        assert said in ended.err
        assert len(ended.err.splitlines()) == 1

    def test_watch_refuses_a_queue_when_it_is_the_systems_own(
        self, deployed: LocalStack, ctl: Ctl
    ) -> None:
        """What it looks at is not numbered meanwhile."""
        for output in ("CreateTicketQueueUrl", "DeadLetterQueueUrl"):
            ended = ctl("watch", "--from", deployed.outputs[output])

            assert ended.status == 2
            assert "not a subscriber's queue" in ended.err


class TestExampleHandlesEachAnnouncementOnce:
    """The subscriber in the documentation does what it says."""

    @pytest.mark.parametrize("raw", ["true", "false"])
    def test_subscriber_handles_each_event_once_when_it_is_announced_again(
        self, system: System, project: str, ctl: Ctl, own_queue: OwnQueue, raw: str
    ) -> None:
        """Delivered raw or enveloped; what it cannot handle stays on the queue."""
        deliver_raw(system.stack, own_queue, raw)
        first, second = ticket_fields(project), ticket_fields(project)
        system.send(first)
        system.wait_for(lambda: system.events(project))
        system.send(first)
        own_queue.wait_for(2)
        own_queue.put("nonsense")
        system.send(second)

        ended = subprocess.run(  # noqa: S603 - our own program.
            [sys.executable, str(EXAMPLE), own_queue.url, "--count", "2"],
            env=process_environment(ctl),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )

        assert {line.split(":")[0] for line in ended.stdout.splitlines()} == {
            f"{project}-1",
            f"{project}-2",
        }
        assert len(ended.stdout.splitlines()) == 2
        assert not any(project in body for body in own_queue.take())


def deliver_raw(stack: LocalStack, queue: OwnQueue, raw: str) -> None:
    """Let the topic deliver the bare message, or in its envelope."""
    sns: Any = stack.client("sns")
    [arn] = [
        each["SubscriptionArn"]
        for each in sns.list_subscriptions()["Subscriptions"]
        if each["Endpoint"].endswith(f":{queue.name}")
    ]
    sns.set_subscription_attributes(
        SubscriptionArn=arn,
        AttributeName="RawMessageDelivery",
        AttributeValue=raw,
    )
