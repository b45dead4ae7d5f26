"""The promises in FIFO mode, and the order that it adds, on the emulator."""

import json
import runpy
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import pytest

from simulation.aws.faults import Fault
from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.paths import ROOT
from tests.support.proxy import Proxy, serving
from ticketctl.local.stack import LocalStack, local_stack

pytestmark = pytest.mark.emulator


@pytest.fixture(scope="module")
def deployed() -> Iterator[LocalStack]:
    with local_stack({"QueueType": "fifo", "TopicType": "fifo"}) as stack:
        yield stack


def numbered(system: System, project_id: str, count: int) -> list[tuple[str, int]]:
    """Wait for this number of announcements; return keys and numbers as they came."""
    system.wait_for(lambda: len(system.events(project_id)) >= count)
    system.settle()
    events = [event["data"] for event in system.events(project_id)]
    return [(data["idempotency_key"], data["number"]) for data in events]


def in_order(*messages: dict[str, Any]) -> list[tuple[str, int]]:
    return [(message["idempotency_key"], n) for n, message in enumerate(messages, 1)]


class TestOrder:
    """Number order is arrival order, and announcements come in it."""

    def test_numbers_follow_the_order_of_arrival_in_every_project(
        self, system: System, project: str
    ) -> None:
        """Three projects interleaved, with poison in the middle."""
        counts = {project: 25, f"{project}-b": 12, f"{project}-c": 1}
        projects = {
            name: [ticket_fields(name) for _ in range(count)]
            for name, count in counts.items()
        }
        interleaved = zip_longest(*projects.values())
        good = [message for some in interleaved for message in some if message]
        poison = ticket_fields(project, title="")

        system.send(*good[:9], poison, poison, *good[9:])

        for name, messages in projects.items():
            assert numbered(system, name, len(messages)) == in_order(*messages)
        assert system.problems() == []
        reasons = [
            dead_letter.attributes["ErrorMessage"]
            for dead_letter in system.dead_letters
        ]
        assert [reason.partition(": ")[0] for reason in reasons] == ["title"] * 2

    def test_successors_wait_when_a_message_fails(
        self, system: System, project: str
    ) -> None:
        """SNS rejects a delivery's announcement, and the SDK's retry of it.

        A slow delivery is repeated, and so is its announcement.
        """
        messages = [ticket_fields(project) for _ in range(2)]
        with (
            serving(Proxy(system.stack)) as sns,
            system.queue_attributes(VisibilityTimeout="2"),
            system.function_environment(AWS_ENDPOINT_URL_SNS=sns.url),
        ):
            # The start of an execution environment takes long.
            system.send(ticket_fields(f"{project}-other"))
            numbered(system, f"{project}-other", 1)
            sns.coming = [Fault.FAILED_BEFORE] * 2
            system.send(messages[0])
            system.wait_for(lambda: not sns.coming)
            system.send(messages[1])

            came = numbered(system, project, 2)
        assert [*dict.fromkeys(came)] == in_order(*messages)
        assert system.replays(project)[0]


MOVER = runpy.run_path(str(ROOT / "docs" / "examples" / "move_messages.py"))


@pytest.mark.parametrize(
    ("queue_url", "region"),
    [
        ("https://sqs.eu-north-1.amazonaws.com/123456789012/old", "eu-north-1"),
        ("http://127.0.0.1:4566/000000000000/old", "eu-west-1"),
    ],
)
def test_documented_code_asks_the_region_of_a_queue(
    monkeypatch: pytest.MonkeyPatch, queue_url: str, region: str
) -> None:
    """Else it would move nothing out of the Region that had failed."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")

    assert MOVER["client_of"](queue_url).meta.region_name == region


@pytest.mark.parametrize("suffix", ["", ".fifo"])
def test_documented_code_moves_what_waits_in_the_queue_of_another_type(
    system: System, project: str, suffix: str
) -> None:
    """Equal bodies too; moved messages are numbered, in order if they had one."""
    sqs = system.stack.client("sqs")
    attributes = {"FifoQueue": "true"} if suffix else {}
    old = sqs.create_queue(QueueName=f"old{suffix}", Attributes=attributes)["QueueUrl"]
    messages = [ticket_fields(project) for _ in range(12)]
    bodies = [*map(json.dumps, messages), "{nonsense", "{nonsense"]
    for serial, body in enumerate(bodies):
        once = {"MessageDeduplicationId": str(serial)} if suffix else {}
        sqs.send_message(QueueUrl=old, MessageBody=body, MessageGroupId=project, **once)

    MOVER["move"](sqs, old, sqs, system.stack.outputs["CreateTicketQueueUrl"])

    assert numbered(system, project, 12) == in_order(*messages)
    assert system.wait_for(lambda: len(system.dead_letters) == 2)
