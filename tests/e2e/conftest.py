"""The whole system, deployed once for all end-to-end tests."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, TypeVar

import pytest
from botocore.handlers import BUILTIN_HANDLERS

from tests.support.ctl_process import WIDTH, Ctl, Ended
from tests.support.paths import EXAMPLES, ROOT
from tests.support.rights import granted, needed
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.audit.audit import ProjectAudit, audit_checked
from ticketctl.audit.reading import AuditPlan
from ticketctl.aws.announcements import REFUSED, read_announcement
from ticketctl.aws.queues import Received, messages_on, take
from ticketctl.aws.sender import Request, send
from ticketctl.aws.stack import StackAccess, find_stack
from ticketctl.aws.table_reader import TableReader
from ticketctl.aws.topic import create_queue, subscribe, subscribe_queue
from ticketctl.local.artifact import build_artifact
from ticketctl.local.connection_files import variables
from ticketctl.local.stack import LocalStack, local_stack
from ticketctl.verify.observed import Announcements, Observed, Project, Sent
from ticketctl.verify.outcome import check_outcomes

Found = TypeVar("Found")

# Child processes find the packages, like the programs of `make setup`.
os.environ["PYTHONPATH"] = os.pathsep.join((str(ROOT), str(ROOT / "src")))

DELIVERIES_AT_ONCE = 8
USERS_SHELL = {
    "AWS_PROFILE": "does-not-exist",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    "AWS_USE_FIPS_ENDPOINT": "true",
    "HTTP_PROXY": "http://127.0.0.1:9",
}
PATIENCE_SECONDS = 400
"""A slow machine is no failure, nor is a call too slow, whose message is invisible for
180 seconds."""

_serial = count(1)


def messages_of(stack: LocalStack, queue_url: str) -> int:
    """Return the count of a queue's messages; a receiver may have hidden some."""
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    answer = stack.client("sqs").get_queue_attributes(
        QueueUrl=queue_url, AttributeNames=names
    )
    return sum(int(answer["Attributes"][name]) for name in names)


def wait_until(
    condition: Callable[[], Found],
    why: Callable[[], object] = str,
    seconds: float = PATIENCE_SECONDS,
) -> Found:
    """Wait for something that is there, or true.

    Raises:
        TimeoutError: There was nothing for too long.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing after {seconds} s: {why()}")
        time.sleep(0.05)
    return value


@contextmanager
def killed_at_end(
    process: "subprocess.Popen[str]",
) -> Iterator["subprocess.Popen[str]"]:
    """Kill a process group that has not ended when its test has."""
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@dataclass
class System:
    """The deployed system, and its announcements and dead letters so far."""

    stack: LocalStack
    announcements_url: str
    sent: list[Sent] = field(default_factory=list)
    announced: list[Received] = field(default_factory=list)
    dead_letters: list[Received] = field(default_factory=list)

    def send(self, *messages: str | dict[str, Any]) -> list[Request]:
        bodies = [
            message if isinstance(message, str) else json.dumps(message)
            for message in messages
        ]
        requests = send(self.stack, bodies)
        announced = self.announcements().numbers
        self.sent += [
            Sent(
                request.message_id,
                request.body,
                CreateTicket.key_of(request.body) in announced,
            )
            for request in requests
        ]
        return requests

    def look(self) -> bool:
        """Take some announcements and dead letters, if there are new ones."""
        announced = take(self.stack, self.announcements_url)
        letters = take(self.stack, self.stack.outputs["DeadLetterQueueUrl"])
        self.announced += announced
        self.dead_letters += letters
        return bool(announced or letters)

    def wait_for(
        self, what: Callable[[], Found], seconds: float = PATIENCE_SECONDS
    ) -> Found:
        """Look until there is something.

        Raises:
            TimeoutError: There was nothing for too long.
        """

        def look() -> Found:
            self.look()
            return what()

        return wait_until(look, lambda: self.logs()[-5:], seconds)

    def logs(self) -> list[str]:
        """Return the function's log lines, oldest first; an invocation's at its end."""
        pages = (
            self.stack.client("logs")
            .get_paginator("filter_log_events")
            .paginate(logGroupName=self.stack.outputs["WorkerLogGroupName"])
        )
        return [event["message"] for page in pages for event in page["events"]]

    def settle(self) -> None:
        """Wait until the queue is empty and all that left it has arrived."""
        self.wait_for(lambda: not messages_on(self.stack, "CreateTicketQueueUrl"))
        self.look()

    def events(self, project_id: str, *, refused: bool = False) -> list[dict[str, Any]]:
        """Return the events of the project's tickets, or of its refused messages."""
        events = (json.loads(message.body) for message in self.announced)
        own = [event for event in events if event["data"]["project_id"] == project_id]
        return [event for event in own if (event["type"] == REFUSED) is refused]

    def replays(self, project_id: str) -> list[bool]:
        return [
            message.attributes["replayed"] == "true"
            for message in self.announced
            if message.attributes["project_id"] == project_id
            and message.attributes["event_type"] != REFUSED
        ]

    def audits(self) -> Sequence[ProjectAudit]:
        return audit_checked(TableReader.of(self.stack), AuditPlan()).projects

    def audit(self, project_id: str) -> ProjectAudit:
        audits = (audit for audit in self.audits() if audit.project_id == project_id)
        return next(audits, ProjectAudit(project_id))

    def announcements(self) -> Announcements:
        announcements = Announcements()
        for announcement in filter(None, map(read_announcement, self.announced)):
            announcements.add(announcement)
        return announcements

    def observed(self) -> Observed:
        """Return the outcomes of the messages that were sent."""
        own = {message.key.project_id for message in self.sent if message.key}
        audits = (audit for audit in self.audits() if audit.project_id in own)
        projects = [Project.read(self.stack, audit) for audit in audits]
        # The dead-letter queue is every test's.
        ids = {message.message_id for message in self.sent}
        letters = [letter for letter in self.dead_letters if letter.source in ids]
        return Observed(self.sent, self.announcements(), letters, projects)

    def problems(self) -> Sequence[str]:
        """Wait for all outcomes of the sent messages; return the violations."""
        self.wait_for(lambda: not check_outcomes(self.observed()).missing)
        self.settle()
        verdict = check_outcomes(self.observed())
        return [*verdict.missing, *verdict.wrong]

    def redrive_policy(self, *, after: int) -> str:
        arn = self.stack.outputs["DeadLetterQueueArn"]
        return json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": str(after)})

    @contextmanager
    def queue_attributes(self, **attributes: str) -> Iterator[None]:
        sqs, url = self.stack.client("sqs"), self.stack.outputs["CreateTicketQueueUrl"]
        before = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[*attributes])
        sqs.set_queue_attributes(QueueUrl=url, Attributes=attributes)
        try:
            yield
        finally:
            sqs.set_queue_attributes(QueueUrl=url, Attributes=before["Attributes"])

    @contextmanager
    def function_environment(self, **variables: str) -> Iterator[None]:
        """Let deliveries go to a version of the function with these variables."""
        function, name = self.stack.client("lambda"), self.stack.function_name
        configuration = function.get_function_configuration(FunctionName=name)
        before = configuration["Environment"]["Variables"]

        def publish(variables: dict[str, str]) -> None:
            function.update_function_configuration(
                FunctionName=name, Environment={"Variables": variables}
            )
            version = function.publish_version(FunctionName=name)["Version"]
            function.update_alias(
                FunctionName=name, Name="live", FunctionVersion=version
            )

        publish(before | variables)
        try:
            yield
        finally:
            publish(before)


@pytest.fixture(scope="session")
def deployed() -> Iterator[LocalStack]:
    """Deploy the template as it is, from a shell that is full of configuration."""
    artifact = build_artifact()
    parameters = {"MaximumConcurrency": str(DELIVERIES_AT_ONCE), "UseLine": "true"}
    with ExitStack() as exits:
        with pytest.MonkeyPatch.context() as shell:
            for name, value in USERS_SHELL.items():
                shell.setenv(name, value)
            running = local_stack(parameters, artifact=artifact)
            stack = exits.enter_context(running)
        yield stack


@pytest.fixture(scope="session")
def stack(request: pytest.FixtureRequest) -> StackAccess:
    """Return the stack that `--stack` names, or the local one."""
    if name := request.config.getoption("stack"):
        return find_stack(name, None, None)
    local: LocalStack = request.getfixturevalue("deployed")
    return local


@pytest.fixture
def system(deployed: LocalStack) -> Iterator[System]:
    """Return the system with a subscription of the test's own."""
    system = System(deployed, subscribe(deployed, f"test-{next(_serial)}"))
    yield system
    system.settle()


@pytest.fixture
def project() -> str:
    return f"E2E-{next(_serial)}"


@pytest.fixture(params=["true", "false"], ids=["raw", "enveloped"])
def own_queue(
    request: pytest.FixtureRequest, deployed: LocalStack, filter_policy: dict[str, Any]
) -> str:
    """Return the URL of a queue that a subscriber has subscribed, in either way."""
    url, arn = create_queue(deployed, f"own-{next(_serial)}")
    policy = json.dumps(filter_policy)
    subscribe_queue(
        deployed, arn, FilterPolicy=policy, RawMessageDelivery=request.param
    )
    return url


def example(ctl: Ctl, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the docs with boto3 alone, to its end."""
    return subprocess.run(  # noqa: S603 - our own example.
        [sys.executable, "-I", str(EXAMPLES / name), *arguments],
        env=ctl.process_environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


class CtlWithRights(Ctl):
    """Calls commands that may need no other right than their row says."""

    needed: ClassVar[set[str]] = set()
    """The rights that the last command needed."""

    def __call__(self, *arguments: str, typed: str = "", **environment: str) -> Ended:
        """Call a command, and compare its calls with its row."""
        self.needed.clear()
        ended = super().__call__(*arguments, typed=typed, **environment)
        words = 2 if arguments[0] == "dead-letters" else 1
        assert self.needed, "the calls were not noted"
        assert self.needed <= granted(" ".join(arguments[:words]))
        return ended


def note_rights(params: Mapping[str, Any], model: Any, **_: object) -> None:
    service = model.service_model.service_name
    CtlWithRights.needed.update(needed(service, model.name, params))


# Every session of boto3 takes these.
BUILTIN_HANDLERS.append(("before-parameter-build", note_rights))


@pytest.fixture(scope="module")
def ctl(deployed: LocalStack) -> Ctl:
    """Return a caller of commands on the system."""
    neutral = {"COLUMNS": WIDTH, "AWS_PROFILE": None, "AWS_SESSION_TOKEN": None}
    return CtlWithRights({**variables(deployed), **neutral})
