"""Tells whether the worker is stopped, for commands that must not meet it.

Stopped means that each event source mapping of the function is disabled, of any
queue and qualifier, that nothing is in flight, and that the last invocation has
had the function's timeout since.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final

from ticket_numbering.contract import aws_codes
from ticketctl.aws.aws_errors import Suppressed
from ticketctl.aws.stack import StackAccess
from ticketctl.cli.output import counted, utc

DISABLED: Final = "Disabled"
ENABLED: Final = "Enabled"
"""The states that stay; API reference, GetEventSourceMapping."""

_MAX_TIMEOUT: Final = 900
"""Seconds; Lambda quotas. Of a version that was deleted."""

RESTORING: Final = "ticketctl:restoring"
"""The tag of mappings while a restore is at work that needs the worker stopped."""

Ask = Callable[..., Any]
"""Puts a question about some things to a named service; None is no answer."""


@dataclass(frozen=True)
class Source:
    """An event source mapping of the worker."""

    id: str
    state: str
    queue_arn: str
    function_arn: str
    changed: datetime
    """When its state changed."""

    @property
    def queue_name(self) -> str:
        """The name of the queue that it polls."""
        return self.queue_arn.rpartition(":")[2]

    @property
    def arn(self) -> str:
        """Its own ARN, by which it is tagged."""
        prefix = ":".join(self.function_arn.split(":")[:5])
        return f"{prefix}:event-source-mapping:{self.id}"


@dataclass(frozen=True)
class WorkerState:
    """The worker's mappings, and what may still be on its way."""

    sources: Sequence[Source]
    now: datetime
    """By Lambda's clock, if it is known."""
    in_flight: int | None = 0
    """Messages in flight; asked only while all are disabled."""
    timeout: int | None = 0
    """Seconds, the longest of the functions."""

    @property
    def is_stopped(self) -> bool:
        """Whether nothing of the worker runs, and nothing will."""
        return not any(self.obstacles())

    def obstacles(self) -> Iterator[str]:
        """Yield why it is not stopped."""
        running = [source for source in self.sources if source.state != DISABLED]
        if running:
            states = ", ".join(
                f"{source.queue_name} {source.state}" for source in running
            )
            yield f"{len(running)} of {_mappings(self.sources)} not disabled: {states}"
            return
        if self.in_flight is None or self.timeout is None:
            yield "messages in flight are unknown"
        elif self.in_flight:
            yield f"{counted(self.in_flight, 'message')} in flight"
        changed = [source.changed for source in self.sources]
        if changed and self.timeout:
            end = max(changed) + timedelta(seconds=self.timeout)
            if self.now < end:
                yield f"the last invocation can run until {utc(end)}"


def worker_state(stack: StackAccess) -> WorkerState:
    """Ask about the worker, as every guard does."""
    return _whole(stack, *_sources(stack), ask=lambda _, question, *of: question(*of))


def known_state(stack: StackAccess, ask: Ask) -> WorkerState | None:
    """Return the known state of the worker; services may give no answer."""
    sources = ask("Lambda", _sources, stack)
    return sources and _whole(stack, *sources, ask=ask)


@contextmanager
def restoring(stack: StackAccess, sources: Sequence[Source]) -> Iterator[None]:
    """Tag mappings until the block has come to its end, against a start."""
    client = stack.client("lambda")
    for source in sources:
        client.tag_resource(Resource=source.arn, Tags={RESTORING: source.id})
    yield
    for source in sources:
        client.untag_resource(Resource=source.arn, TagKeys=[RESTORING])


def _whole(
    stack: StackAccess, sources: Sequence[Source], now: datetime, *, ask: Ask
) -> WorkerState:
    """Return the state, with messages in flight if all mappings are disabled."""
    if any(source.state != DISABLED for source in sources):
        return WorkerState(sources, now)
    counts = [ask("SQS", _in_flight, stack, source.queue_arn) for source in sources]
    times = [ask("Lambda", _timeout, stack, source.function_arn) for source in sources]
    in_flight = None if None in counts else sum(counts)
    timeout = None if None in times else max(times, default=0)
    return WorkerState(sources, now, in_flight, timeout)


def _sources(stack: StackAccess) -> tuple[list[Source], datetime]:
    """Return the mappings that invoke the function, and Lambda's time.

    Lambda lists those of a function by one qualifier, so all of the Region are read.
    """
    function, now = stack.outputs["WorkerFunctionName"], datetime.now(UTC)
    pages = stack.client("lambda").get_paginator("list_event_source_mappings")
    sources: list[Source] = []
    for page in pages.paginate():
        headers = page.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else now
        for mapping in page["EventSourceMappings"]:
            arn = mapping.get("FunctionArn", "")
            if arn.split(":")[6:7] == [function]:
                queue, changed = (
                    mapping.get("EventSourceArn", ""),
                    mapping["LastModified"],
                )
                sources.append(
                    Source(mapping["UUID"], mapping["State"], queue, arn, changed)
                )
    return sources, now


def _in_flight(stack: StackAccess, queue_arn: str) -> int:
    """Return the messages in flight of a queue; 0 if there is no queue."""
    service, _, account, name = (queue_arn.split(":") + [""] * 6)[2:6]
    if service != "sqs":
        return 0
    sqs, name_of_count = stack.client("sqs"), "ApproximateNumberOfMessagesNotVisible"
    with Suppressed(aws_codes.NOT_THERE):
        if queue_arn == stack.outputs["CreateTicketQueueArn"]:
            url = stack.outputs["CreateTicketQueueUrl"]
        else:
            owner = {"QueueOwnerAWSAccountId": account}
            url = sqs.get_queue_url(QueueName=name, **owner)["QueueUrl"]
        answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name_of_count])
        return int(answer["Attributes"][name_of_count])
    return 0


def _timeout(stack: StackAccess, function_arn: str) -> int:
    """Return the timeout of a function in seconds; the longest if it is gone."""
    get = stack.client("lambda").get_function_configuration
    with Suppressed(aws_codes.NOT_THERE):
        return int(get(FunctionName=function_arn)["Timeout"])
    return _MAX_TIMEOUT


def _mappings(sources: Sequence[Source]) -> str:
    verb = "is" if len(sources) == 1 else "are"
    return f"{counted(len(sources), 'mapping')} {verb}"
