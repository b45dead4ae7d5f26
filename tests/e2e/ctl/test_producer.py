"""The producer of the docs waits for the answer to its request."""

import subprocess
from typing import Any

import pytest

from tests.e2e.conftest import System, example, messages_of
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from ticketctl.aws.announcements import ASSIGNED, REFUSED

pytestmark = pytest.mark.emulator


@pytest.fixture
def key(project: str) -> str:
    """Return the producer's idempotency key; no other test's has its prefix."""
    return f"{project}-order-1"


@pytest.fixture
def filter_policy(key: str) -> dict[str, Any]:
    """Return the policy that the docs show."""
    prefix = key.removesuffix("1")
    return {"event_type": [ASSIGNED, REFUSED], "idempotency_key": [{"prefix": prefix}]}


def produced(
    ctl: Ctl, system: System, *arguments: str
) -> subprocess.CompletedProcess[str]:
    url = system.stack.outputs["CreateTicketQueueUrl"]
    return example(ctl, "producer.py", url, *arguments)


def test_refusal_is_printed_when_the_sequence_has_reached_the_cap(
    ctl: Ctl, system: System, project: str, key: str, own_queue: str
) -> None:
    """The first request waits for no answer."""
    options = ("--max-number", "1", "--answers", own_queue)

    first = produced(ctl, system, project, "A title", "another")
    system.wait_for(lambda: system.events(project))
    ended = produced(ctl, system, project, "A title", key, *options)

    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith("another ")
    assert (ended.returncode, ended.stderr) == (4, "")
    assert ended.stdout == f"{key} refused: cap_reached max_number\n"
    assert messages_of(system.stack, own_queue) == 0


def test_refusal_is_not_believed_when_it_is_of_another_message(
    ctl: Ctl, system: System, project: str, key: str, own_queue: str
) -> None:
    """Another sender has had the key refused, and many foreign messages come along."""
    sqs = system.stack.client("sqs")
    foreign = ("no JSON", "[]", '{"Type": "SubscriptionConfirmation"}', "{}") * 30
    for body in foreign:
        sqs.send_message(QueueUrl=own_queue, MessageBody=body)
    system.send(ticket_fields(project, key, priority="whenever"))
    system.wait_for(lambda: messages_of(system.stack, own_queue) > len(foreign))

    ended = produced(ctl, system, project, "A title", key, "--answers", own_queue)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"{key} {project}-1\n"
    assert messages_of(system.stack, own_queue) == 0
    system.look()
    [refusal] = system.events(project, refused=True)
    assert refusal["data"]["idempotency_key"] == key
