"""The promises on any stack: the local one, or one of an account that `--stack` names.

Each test leaves its tickets, in a project of its own, and takes no other messages.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import token_hex
from threading import Event

import pytest

from tests.e2e.conftest import CtlWithRights
from tests.support.builders import ticket_fields
from tests.support.ctl_process import WIDTH, Ctl
from tests.support.evidence import run_verifier
from tests.support.paused_worker import paused_worker, throttled_worker
from ticketctl.aws.queues import MAX_ENTRIES, take
from ticketctl.aws.stack import Stack, StackAccess
from ticketctl.cli.errors import Status
from ticketctl.commands.verify import PATIENCE_SECONDS
from ticketctl.local.connection_files import variables
from ticketctl.verify.outcome import Outcome
from ticketctl.verify.run import Run
from ticketctl.verify.sample import Messages
from ticketctl.watch.watching import temporary_queue

pytestmark = [pytest.mark.emulator, pytest.mark.any_stack]

TOGETHER, MOST_ROUNDS = 50, 40
"""Messages that are sent together, twice each, and how often at most."""
LOCAL_SECONDS, CLOUD_SECONDS = 1, 15
"""Of each state of the worker; on AWS a switch takes up to a minute."""


@pytest.fixture
def ctl(stack: StackAccess, request: pytest.FixtureRequest) -> Ctl:
    environment: dict[str, str | None] = {"TICKETCTL_STACK": stack.name}
    if not isinstance(stack, Stack):
        neutral = {"AWS_PROFILE": None, "AWS_SESSION_TOKEN": None}
        environment = {**variables(request.getfixturevalue("deployed")), **neutral}
    return CtlWithRights({**environment, "COLUMNS": WIDTH})


@pytest.fixture
def project() -> str:
    """Return a project that no earlier run has left."""
    return f"E2E-{token_hex(4)}"


@pytest.fixture
def run(stack: StackAccess, project: str) -> Iterator[Run]:
    """Return a run whose subscription delivers."""
    with temporary_queue(stack) as queue_url:
        run = Run(stack, queue_url)
        assert run.probe(json.dumps(ticket_fields(project)), PATIENCE_SECONDS)
        yield run


def bodies(project: str, count: int) -> list[str]:
    return [json.dumps(ticket_fields(project)) for _ in range(count)]


def last_verdict(run: Run) -> Outcome:
    """Wait for the missing outcomes."""
    return run.follow(Messages(()), PATIENCE_SECONDS)


def park(stack: StackAccess) -> int:
    """Move the waiting messages to the dead-letter queue; return how many."""
    parked, outputs = 0, stack.outputs
    while messages := take(stack, outputs["CreateTicketQueueUrl"], 2):
        parked += len(messages)
        stack.client("sqs").send_message_batch(
            QueueUrl=outputs["DeadLetterQueueUrl"],
            Entries=[
                {"Id": message.message_id, "MessageBody": message.body}
                for message in messages
            ],
        )
    return parked


def test_verify_is_clean(ctl: Ctl) -> None:
    ended = ctl("verify", "--yes", "--json")

    assert ended.status == Status.OK, ended.out


def test_messages_get_their_numbers_when_a_redrive_alone_brings_them(
    stack: StackAccess, ctl: Ctl, run: Run, project: str
) -> None:
    with paused_worker(stack):
        run.follow(Messages(bodies(project, MAX_ENTRIES)), 0)
        parked = park(stack)
        redriven = ctl("dead-letters", "redrive", "--project", project, "--yes")
    verdict = last_verdict(run)

    assert (parked, redriven.status) == (MAX_ENTRIES, Status.OK), redriven.err
    assert [*verdict.missing, *verdict.wrong] == []
    assert len(run.announcements.numbers) == 1 + MAX_ENTRIES


def test_tickets_are_gapless_and_verify_when_the_worker_is_stopped_and_throttled(
    stack: StackAccess, ctl: Ctl, run: Run, project: str, tmp_path: Path
) -> None:
    """Each message is sent twice meanwhile."""
    over, sent = Event(), 1
    seconds = CLOUD_SECONDS if isinstance(stack, Stack) else LOCAL_SECONDS

    def disturb() -> None:
        for disturbance in (paused_worker, throttled_worker):
            over.wait(seconds)
            with disturbance(stack):
                over.wait(seconds)

    with ThreadPoolExecutor(1) as pool:
        disturbing = pool.submit(disturb)
        try:
            for _ in range(MOST_ROUNDS):
                if disturbing.done():
                    break
                some = bodies(project, TOGETHER)
                run.follow(Messages([*some, *reversed(some)]), 0)
                sent += TOGETHER
            disturbing.result()
            verdict = last_verdict(run)
        finally:
            over.set()
    audited = ctl("audit", "--project", project)
    exported = ctl("export", "--project", project)
    checked = run_verifier(exported.out, tmp_path)

    assert [*verdict.missing, *verdict.wrong] == []
    assert len(run.announcements.numbers) == sent
    assert audited.status == Status.OK, audited.out
    assert checked.stdout.splitlines() == [f"{sent} items, 0 heads, 0 problems"]
