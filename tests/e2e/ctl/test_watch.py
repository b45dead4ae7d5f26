"""`ticketctl watch`: people see the numbers, and nothing is left behind."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.conftest import PATIENCE_SECONDS, System, example, messages_of
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from ticketctl.aws.queues import take
from ticketctl.local.stack import LocalStack
from ticketctl.watch.watching import name_start

pytestmark = pytest.mark.emulator


def temporary(stack: LocalStack) -> set[str]:
    """Return the names of temporary queues, and of queues subscribed as such."""
    start = name_start(stack)
    queues = stack.client("sqs").list_queues(QueueNamePrefix=start)
    subscribed = stack.client("sns").list_subscriptions()["Subscriptions"]
    names = {url.rpartition("/")[2] for url in queues.get("QueueUrls", [])}
    names |= {topic["Endpoint"].rpartition(":")[2] for topic in subscribed}
    return {name for name in names if name.startswith(start)}


@contextmanager
def watching(ctl: Ctl, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run `ticketctl watch` as a process, from when it has subscribed."""
    with subprocess.Popen(  # noqa: S603 - our own program.
        [sys.executable, "-m", "ticketctl", "watch", *arguments],
        env=ctl.process_environment,
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


def test_watch_shows_the_chosen_projects_numbers_and_replays(
    system: System, project: str, ctl: Ctl
) -> None:
    message = ticket_fields(project, title="Log\u202ein [red]page[/]")
    options = ("--project", project, "--count", "2", "--for", str(PATIENCE_SECONDS))

    with watching(ctl, *options) as process:
        system.send(ticket_fields(f"{project}-other"), message)
        system.wait_for(lambda: system.events(project))
        system.send(message)
        out, err = process.communicate(timeout=2 * PATIENCE_SECONDS)

    first, second = out.splitlines()
    title = "Log\N{REPLACEMENT CHARACTER}in [red]page[/]"
    assert first.split(maxsplit=3) == [f"{project}-1", project, "medium", title]
    assert second == f"{first}  (replay)"
    assert (process.returncode, err) == (0, "")
    assert not temporary(system.stack)


@pytest.fixture
def filter_policy(project: str) -> dict[str, Any]:
    return {"project_id": [project]}


class TestSubscribersQueue:
    """A subscriber's own queue, to which messages come raw or enveloped."""

    def test_subscriber_of_the_docs_handles_each_event_once_when_it_is_repeated(
        self, system: System, project: str, ctl: Ctl, own_queue: str
    ) -> None:
        """Other messages stay on the queue."""
        first, second = ticket_fields(project), ticket_fields(project)
        system.send(first)
        system.wait_for(lambda: system.events(project))
        system.stack.client("sqs").send_message(QueueUrl=own_queue, MessageBody="junk")
        system.send(first)
        system.wait_for(lambda: len(system.events(project)) == 2)
        system.send(second)

        ended = example(ctl, "subscriber.py", own_queue, "--count", "2")

        keys = [line.split(":")[0] for line in ended.stdout.splitlines()]
        assert keys == [f"{project}-1", f"{project}-2"]
        bodies = [message.body for message in take(system.stack, own_queue)]
        assert not any(project in body for body in bodies)

    def test_subscriber_of_the_docs_leaves_nothing_when_a_type_or_source_is_new(
        self, system: System, project: str, ctl: Ctl, own_queue: str
    ) -> None:
        """An unknown type is deleted; the id of another stack's event is no repeat."""
        sqs = system.stack.client("sqs")
        system.send(ticket_fields(project))
        [event] = system.wait_for(lambda: system.events(project))
        unknown = event | {"id": "new", "type": "ticket-numbering.TicketMoved.v1"}
        elsewhere = event | {"source": f"{event['source']}/elsewhere"}
        for sent in (unknown, elsewhere):
            sqs.send_message(QueueUrl=own_queue, MessageBody=json.dumps(sent))

        ended = example(ctl, "subscriber.py", own_queue, "--count", "2")

        line = f"{project}-1: {event['data']['title']}"
        assert ended.stdout.splitlines() == [line, line]
        skipped = (event["source"], "new")
        assert ended.stderr == f"skipped {skipped}: {unknown['type']}\n"
        assert messages_of(system.stack, own_queue) == 0
