"""Tells whether the worker is stopped, for commands that must not run beside it.

The worker is stopped if each event source mapping of the function is disabled, for any
queue and qualifier, nothing is in flight, and the function's timeout has passed since
the last invocation.
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
"""The stable states; API reference, GetEventSourceMapping."""

_MAX_TIMEOUT: Final = 900
"""The longest timeout in seconds, for a deleted function; Lambda quotas."""

RESTORING: Final = "ticketctl:restoring"
"""The tag of mappings during a restore that needs the worker stopped."""

Ask = Callable[..., Any]
"""Calls a function of a named service; returns None if the service gives no answer."""


@dataclass(frozen=True)
class Source:
    """An event source mapping of the worker."""

    id: str
    state: str
    queue_arn: str
    function_arn: str
    changed: datetime
    """The time of its last change of state."""

    @property
    def queue_name(self) -> str:
        """The name of the polled queue."""
        return self.queue_arn.rpartition(":")[2]

    @property
    def arn(self) -> str:
        """The mapping's own ARN, for its tags."""
        prefix = ":".join(self.function_arn.split(":")[:5])
        return f"{prefix}:event-source-mapping:{self.id}"


@dataclass(frozen=True)
class WorkerState:
    """The worker's mappings, messages in flight and timeout."""

    sources: Sequence[Source]
    now: datetime
    """The time by Lambda's clock, if it is known."""
    in_flight: int | None = 0
    """The messages in flight; read only while all mappings are disabled."""
    timeout: int | None = 0
    """The longest timeout of the functions, in seconds."""

    @property
    def is_stopped(self) -> bool:
        """Whether no invocation runs, and none can start."""
        return not any(self.obstacles())

    def obstacles(self) -> Iterator[str]:
        """Yield the reasons why the worker is not stopped."""
        running = [source for source in self.sources if source.state != DISABLED]
        if running:
            states = ", ".join(
                f"{source.queue_name} {source.state}" for source in running
            )
            verb = "is" if len(self.sources) == 1 else "are"
            every = counted(len(self.sources), "mapping")
            yield f"{len(running)} of {every} {verb} not disabled: {states}"
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
    """Return the state of the worker, read for a guard."""
    return _whole(stack, *_sources(stack), ask=lambda _, question, *of: question(*of))


def known_state(stack: StackAccess, ask: Ask) -> WorkerState | None:
    """Return the state of the worker, as far as services answer."""
    sources = ask("Lambda", _sources, stack)
    return sources and _whole(stack, *sources, ask=ask)


@contextmanager
def restoring(stack: StackAccess, sources: Sequence[Source]) -> Iterator[None]:
    """Tag mappings until the block succeeds, so that the worker is not started."""
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

    Lambda lists a function's mappings by one qualifier, so all of the Region are read.
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
    """Return the timeout of a function in seconds; the maximum if it was deleted."""
    get = stack.client("lambda").get_function_configuration
    with Suppressed(aws_codes.NOT_THERE):
        return int(get(FunctionName=function_arn)["Timeout"])
    return _MAX_TIMEOUT
