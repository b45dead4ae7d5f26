"""The producer of the docs waits for the answer to its request."""

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import count

import pytest

from tests.e2e.conftest import PATIENCE_SECONDS, System, messages_of
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from ticketctl.aws.topic import create_queue, subscribe_queue
from ticketctl.local.artifact import ROOT
from ticketctl.local.stack import LocalStack
from ticketctl.watch.announcements import ASSIGNED, REFUSED

pytestmark = pytest.mark.emulator

EXAMPLE = ROOT / "docs" / "examples" / "producer.py"

_serial = count(1)


@pytest.fixture
def key(project: str) -> str:
    """Return the producer's idempotency key; no other test's has its prefix."""
    return f"{project}-order-1"


@pytest.fixture(params=["true", "false"], ids=["raw", "enveloped"])
def answers(
    request: pytest.FixtureRequest, deployed: LocalStack, key: str
) -> Iterator[str]:
    """Return the URL of a queue that is subscribed as the docs show."""
    url, arn = create_queue(deployed, f"answers-{next(_serial)}")
    policy = {
        "event_type": [ASSIGNED, REFUSED],
        "idempotency_key": [{"prefix": key.removesuffix("1")}],
    }
    subscription = subscribe_queue(
        deployed,
        arn,
        FilterPolicy=json.dumps(policy),
        RawMessageDelivery=request.param,
    )
    yield url
    deployed.client("sns").unsubscribe(SubscriptionArn=subscription)
    deployed.client("sqs").delete_queue(QueueUrl=url)


def produced(
    ctl: Ctl, system: System, *arguments: str
) -> "subprocess.CompletedProcess[str]":
    """Run the producer with boto3 alone, to its end."""
    url = system.stack.outputs["CreateTicketQueueUrl"]
    return subprocess.run(  # noqa: S603 - our own example.
        [sys.executable, "-I", str(EXAMPLE), url, *arguments],
        env=ctl.process_environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_number_is_printed_when_the_request_has_one(
    ctl: Ctl, system: System, project: str, key: str, answers: str
) -> None:
    ended = produced(ctl, system, project, "A title", key, "--answers", answers)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"{key} {project}-1\n"
    assert messages_of(system.stack, answers) == 0


def test_refusal_is_printed_when_the_sequence_has_reached_the_cap(
    ctl: Ctl, system: System, project: str, key: str, answers: str
) -> None:
    """The first request waits for no answer."""
    options = ("--max-number", "1", "--answers", answers)

    first = produced(ctl, system, project, "A title", "another")
    system.wait_for(lambda: system.events(project))
    ended = produced(ctl, system, project, "A title", key, *options)

    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith("another ")
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout == f"{key} refused: SequenceFullError max_number\n"
    assert messages_of(system.stack, answers) == 0


def test_refusal_is_not_believed_when_it_is_of_another_message(
    ctl: Ctl, system: System, project: str, key: str, answers: str
) -> None:
    """Another sender has had the key refused."""
    system.send(ticket_fields(project, key, priority="whenever"))
    system.wait_for(lambda: messages_of(system.stack, answers))

    ended = produced(ctl, system, project, "A title", key, "--answers", answers)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"{key} {project}-1\n"
    assert messages_of(system.stack, answers) == 0
    system.look()
    [refusal] = system.refusals(project)
    assert refusal["data"]["idempotency_key"] == key
