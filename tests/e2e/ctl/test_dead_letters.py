"""Operators look at dead letters, redrive, edit and delete them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pytest

from simulation.aws.faults import Fault
from tests.e2e.conftest import PATIENCE_SECONDS, System, wait_until
from tests.support.audits import numbers_of
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from tests.support.proxy import Proxy, serving
from ticketctl.aws.queues import Receiver, messages_on, take

pytestmark = pytest.mark.emulator


@dataclass
class DeadLetters:
    """The dead-letter queue, and a test's messages in it."""

    system: System
    project: str

    def __post_init__(self) -> None:
        self.url = self.system.stack.outputs["DeadLetterQueueUrl"]
        self.sqs: Any = self.system.stack.client("sqs")

    def visible(self) -> dict[str, str]:
        """Return the bodies of those that anybody can receive now, by id."""
        receiver = Receiver(self.sqs, self.url)
        received = receiver.receive_all(PATIENCE_SECONDS, wait_seconds=0, most_empty=1)
        messages = chain.from_iterable(received)
        bodies = {message["MessageId"]: message["Body"] for message in messages}
        receiver.give_back()
        return bodies

    def count(self) -> int:
        return messages_on(self.system.stack, "DeadLetterQueueUrl")

    def remove_all(self) -> None:
        """Delete every dead letter, those of other tests too."""
        while take(self.system.stack, self.url):
            pass


@pytest.fixture
def dead_letters(system: System, project: str) -> Iterator[DeadLetters]:
    """Return the dead-letter queue, which is empty before and after the test."""
    dead_letters = DeadLetters(system, project)
    dead_letters.remove_all()
    yield dead_letters
    dead_letters.remove_all()


def test_failures_count_the_lines_of_poison(
    system: System, dead_letters: DeadLetters, ctl: Ctl
) -> None:
    """The expression of the query matches the lines as the worker writes them."""
    system.send(ticket_fields(dead_letters.project, "k-1", title=7), "not JSON")
    wait_until(lambda: dead_letters.count() == 2)

    failures = ctl("failures", "--hours", "1", "--json").json["failures"]

    [poison] = [
        failure for failure in failures if failure["error"] == "InvalidMessageError"
    ]
    assert poison["lines"] >= 2
    assert poison["projects"][dead_letters.project] == 1


def test_poison_is_listed_and_shown_with_its_reason_and_goes_when_it_is_edited(
    system: System, dead_letters: DeadLetters, ctl: Ctl
) -> None:
    body = f"\ufeff {{ {dead_letters.project}\r\t\n\u202e "
    wrong = ticket_fields(dead_letters.project, "k-1", title=7)
    system.send(wrong, body)
    wait_until(lambda: dead_letters.count() >= 2)
    ids = {kept: message_id for message_id, kept in dead_letters.visible().items()}

    listed = ctl("dead-letters", "list", COLUMNS="80")
    shown = ctl("dead-letters", "show", ids[body][:13])
    raw = ctl("dead-letters", "show", ids[body], "--raw")

    [line] = [line for line in listed.out.splitlines() if "k-1" in line]
    assert f" {dead_letters.project} " in line
    assert "InvalidMessageError: title: " in line
    assert "InvalidMessageError: body: " in shown.out
    assert raw.out == body
    assert len(dead_letters.visible()) == 2
    chosen, corrected = ids[json.dumps(wrong)], json.dumps(wrong | {"title": "Good"})
    edited = ctl("dead-letters", "edit", chosen, "--body", "-", typed=corrected)
    assert edited.status == 0, edited.err
    assert {*dead_letters.visible().values()} == {body}


def test_number_is_announced_when_its_dead_letter_is_redriven(
    system: System, dead_letters: DeadLetters, ctl: Ctl
) -> None:
    # SNS is down for so long that SQS moves the message.
    with (
        serving(Proxy(system.stack, *[Fault.FAILED_BEFORE] * 100)) as sns,
        system.queue_attributes(
            VisibilityTimeout="2", RedrivePolicy=system.redrive_policy(after=2)
        ),
        system.function_environment(AWS_ENDPOINT_URL_SNS=sns.url),
    ):
        system.send(ticket_fields(dead_letters.project))
        wait_until(lambda: dead_letters.count() > 0)
        wait_until(lambda: numbers_of(system.audit(dead_letters.project)) == (1,))

    redriven = ctl("dead-letters", "redrive", "--all", "--yes")

    assert redriven.status == 0
    [event] = system.wait_for(lambda: system.events(dead_letters.project))
    assert event["id"] == f"{dead_letters.project}-1"
    assert numbers_of(system.audit(dead_letters.project)) == (1,)
