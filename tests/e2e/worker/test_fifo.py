"""The promises in FIFO mode, and the order that it adds, on the emulator."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.sns_gate import Manner, door
from ticketctl.local.artifact import ROOT
from ticketctl.local.stack import LocalStack, local_stack
from ticketctl.system.queues import subscribe

pytestmark = pytest.mark.emulator

TOPIC = "AssignmentsTopicArn"
DOCUMENT = ROOT / "docs" / "fifo.md"


@pytest.fixture(scope="module")
def deployed() -> Iterator[LocalStack]:
    """Deploy the template once, with FIFO queues and a FIFO topic."""
    with local_stack({"QueueType": "fifo", "TopicType": "fifo"}) as stack:
        yield stack


@pytest.fixture(scope="module")
def announcements_url(deployed: LocalStack) -> str:
    """Subscribe a FIFO queue, which keeps the topic's order."""
    return subscribe(deployed, "fifo")


@pytest.fixture
def system(deployed: LocalStack, announcements_url: str) -> Iterator[System]:
    """Return the system; what it has shown is the test's own."""
    system = System(deployed, announcements_url)
    yield system
    system.settle()


def numbered(system: System, project_id: str, count: int) -> list[tuple[str, int]]:
    """Wait for so many announcements; return keys and numbers as they came."""
    system.wait_for(lambda: len(system.events(project_id)) >= count)
    system.settle()
    events = [each["data"] for each in system.events(project_id)]
    return [(each["idempotency_key"], each["number"]) for each in events]


def in_order(*messages: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the keys of the messages with the numbers that their order gives them."""
    return [(each["idempotency_key"], n) for n, each in enumerate(messages, 1)]


def documented_mover() -> Callable[[Any, str, str], None]:
    """Return the function that the documentation gives to operators."""
    [code] = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own document.
    mover: Callable[[Any, str, str], None] = names["move"]
    return mover


def send_raw(system: System, body: str, group: str, **more: str) -> None:
    """Send as a producer does that leaves repeats to the queue."""
    system.stack.client("sqs").send_message(
        QueueUrl=system.stack.outputs["CreateTicketQueueUrl"],
        MessageBody=body,
        MessageGroupId=group,
        **more,
    )


class TestOrder:
    """Number order is arrival order, and announcements come in it."""

    def test_numbers_follow_the_order_of_arrival_in_every_project(
        self, system: System, project: str
    ) -> None:
        """The main job: three projects, their messages interleaved."""
        projects = {
            name: [ticket_fields(name) for _ in range(count)]
            for name, count in (
                (project, 25),
                (f"{project}-b", 12),
                (f"{project}-c", 1),
            )
        }
        interleaved = zip_longest(*projects.values())

        system.send(*(each for some in interleaved for each in some if each))

        for name, messages in projects.items():
            assert numbered(system, name, len(messages)) == in_order(*messages)
            assert system.audit(name).is_clean

    def test_successors_are_numbered_in_order_when_poison_is_in_the_middle(
        self, system: System, project: str
    ) -> None:
        """It lies in the dead-letter queue with its reason, and holds up nobody."""
        good = [ticket_fields(project) for _ in range(4)]
        poison = ticket_fields(project, title="")

        sent = system.send(*good[:2], poison, *good[2:])

        assert numbered(system, project, 4) == in_order(*good)
        letter = system.wait_for(lambda: system.dead_letter_of(sent[2]))
        assert letter is not None
        assert letter.body == json.dumps(poison)
        assert letter.attributes["ErrorType"] == "InvalidMessageError"
        assert letter.attributes["ErrorMessage"].startswith("title: ")
        assert not any(system.dead_letter_of(each) for each in sent if each != sent[2])

    def test_poison_of_one_body_is_dead_lettered_as_often_as_it_was_sent(
        self, system: System, project: str
    ) -> None:
        """The dead-letter queue takes no letter for another."""
        sent = system.send(*[ticket_fields(project, "same-key", title="")] * 2)

        assert all(
            system.wait_for(lambda each=each: system.dead_letter_of(each))  # type: ignore[misc]
            for each in sent
        )


class TestStack:
    """What is deployed is what was asked for."""

    def test_topic_drops_an_id_that_it_has_seen(self, system: System) -> None:
        """Only then do the replays below prove anything."""
        sns, topic_arn = system.stack.client("sns"), system.stack.outputs[TOPIC]
        entry = {"Message": '{"id": "once"}', "MessageGroupId": "probe"}
        attributes = {
            name: {"DataType": "String", "StringValue": "probe"}
            for name in ("project_id", "replayed")
        }
        for _ in range(2):
            sns.publish(
                TopicArn=topic_arn,
                MessageDeduplicationId="once",
                MessageAttributes=attributes,
                **entry,
            )

        system.wait_for(lambda: system.announced)
        system.look()
        assert len(system.announced) == 1

    def test_producer_must_name_a_group(self, system: System) -> None:
        """SQS demands it of every message."""
        with pytest.raises(ClientError, match="MessageGroupId"):
            system.stack.client("sqs").send_message(
                QueueUrl=system.stack.outputs["CreateTicketQueueUrl"], MessageBody="{}"
            )


class TestHeadOfLine:
    """A message that fails holds up its project, and no other."""

    def test_successors_wait_and_others_do_not_when_a_message_fails(
        self, system: System, project: str
    ) -> None:
        """SNS refuses the first announcement; the order is kept all the same."""
        other = f"{project}-other"
        messages = [ticket_fields(project) for _ in range(2)]
        with (
            door(system.stack, Manner.REFUSE, Manner.LET_THROUGH) as sns,
            system.queue_attributes(VisibilityTimeout="5"),
            system.function_environment(AWS_ENDPOINT_URL_SNS=sns.url),
        ):
            system.send(messages[0])
            system.wait_for(lambda: sns.calls)
            system.send(messages[1], ticket_fields(other))

            assert numbered(system, project, 2) == in_order(*messages)
        came = [json.loads(each.body)["id"] for each in system.announced]
        assert came == [f"{other}-1", f"{project}-1", f"{project}-2"]
        assert system.replays(project) == [True, False]


class TestReplays:
    """A request sent again keeps its number, and the number is heard again."""

    def test_replay_is_announced_again_at_once_with_the_same_event(
        self, system: System, project: str
    ) -> None:
        """Within the five minutes in which the topic drops what it has seen."""
        message, other = ticket_fields(project), ticket_fields(project)
        system.send(message)
        numbered(system, project, 1)

        system.send(message, other, message)

        events = [system.events(project)[0]]
        numbers = [number for _, number in numbered(system, project, 3)]
        assert numbers[0] == 1
        assert set(numbers) == {1, 2}
        assert system.events(project).count(events[0]) >= 2
        assert system.audit(project).numbers == (1, 2)

    def test_same_bytes_are_dropped_and_another_ticket_of_the_key_is_not(
        self, system: System, project: str
    ) -> None:
        """The queue recognizes the body, so nothing that is new is lost in silence."""
        message = ticket_fields(project)
        other = json.dumps(message | {"title": "Another"})

        for body in (json.dumps(message), json.dumps(message), other):
            send_raw(system, body, project)

        assert numbered(system, project, 1) == in_order(message)
        letters = system.wait_for(
            lambda: [each for each in system.dead_letters if each.body == other]
        )
        assert letters[0].attributes["ErrorType"] == "IdempotencyMismatchError"
        assert system.replays(project) == [False]


class TestChangeOfType:
    """What waits in the queue of before can be moved by hand."""

    @pytest.mark.parametrize("suffix", ["", ".fifo"])
    def test_documented_code_moves_what_waits_in_an_old_queue(
        self, system: System, project: str, suffix: str
    ) -> None:
        """Equal bodies too; what moved is numbered, in order if it had one."""
        sqs = system.stack.client("sqs")
        old = sqs.create_queue(
            QueueName=f"old{suffix}",
            Attributes={"FifoQueue": "true"} if suffix else {},
        )["QueueUrl"]
        messages = [ticket_fields(project) for _ in range(12)]
        for serial, message in enumerate([*messages, "{nonsense"]):
            body = message if isinstance(message, str) else json.dumps(message)
            once = {"MessageDeduplicationId": str(serial)} if suffix else {}
            sqs.send_message(
                QueueUrl=old, MessageBody=body, MessageGroupId=project, **once
            )

        documented_mover()(sqs, old, system.stack.outputs["CreateTicketQueueUrl"])

        assert numbered(system, project, 12) == in_order(*messages)
        assert system.wait_for(lambda: [each.body for each in system.dead_letters])
