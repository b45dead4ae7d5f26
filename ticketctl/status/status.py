"""The state of a system, from SQS, Lambda and the alarms.

From CloudWatch's metrics it reads only the age of the oldest message and the state of
the line, which no other service has; each read of a metric costs money, and the
dashboard has the others.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from ticketctl.aws.aws_errors import AWS_ERRORS, explained, is_denied, is_no_answer
from ticketctl.aws.queues import message_counts, messages_on
from ticketctl.aws.stack import Stack, location_of
from ticketctl.aws.worker_state import WorkerState, known_state
from ticketctl.cli.errors import Status
from ticketctl.cli.output import (
    counted,
    print_json,
    print_line,
    print_note,
    sanitized,
    utc,
)
from ticketctl.cli.pages import docs
from ticketctl.status.alarms import (
    address_problems,
    addresses_of,
    alarm_problems,
    alarms_of,
)
from ticketctl.status.delivery import aliases_of, delivery_problems, routing
from ticketctl.status.recovery import recovery_problems

_REMOVED: Final = ("DELETE_COMPLETE", "DELETE_SKIPPED")
"""The states of removed resources; API reference, StackResourceSummary."""

_WIDTH: Final = 16
_REFUSAL_WIDTH: Final = 400

_MINUTE: Final = timedelta(minutes=1)
"""The period of SQS's metrics; Developer Guide, CloudWatch metrics for Amazon SQS."""

_SPAN: Final = 15 * _MINUTE
"""The read period, because CloudWatch is some minutes late."""

_WORKER: Final = "TicketNumbering"
"""The namespace of the worker's metrics."""

_LOOPBACK: Final = "127.0.0.1"
"""The address of the emulator of `ticketctl up`."""

_OF_STACK: Final = ("aliases", "alarms", "alarm_addresses")
"""The sections about resources that CloudFormation names."""


@dataclass
class Questions:
    """Calls AWS, and continues if a right is missing or a service does not answer."""

    unanswered: list[str] = field(default_factory=list)
    """A line for each missing answer."""
    silent: set[str] = field(default_factory=set)
    """The services that do not answer; they are not called again."""

    def ask(self, service: str, question: Callable[..., Any], *about: Any) -> Any:
        """Return the answer of a service; None if it is missing."""
        if service in self.silent:
            return None
        try:
            return question(*about)
        except AWS_ERRORS as error:
            if is_no_answer(error):
                self.silent.add(service)
            elif not (isinstance(error, ClientError) and is_denied(error)):
                raise
            does = "does not answer" if service in self.silent else "rejects the call"
            why = sanitized(str(explained(error)), _REFUSAL_WIDTH)
            line = f"unknown, because {service} {does}: {why}"
            if line not in self.unanswered:
                self.unanswered.append(line)
            return None


def status_of(stack: Stack, *, check: bool = False) -> dict[str, Any]:
    """Return the state for `--json`, with None for unknown values.

    A check also reads the settings that a recovery depends on.
    """
    questions = Questions()
    ask = questions.ask
    created = ask("CloudFormation", _created, stack)
    own = created or defaultdict[str, dict[str, str]](dict)
    is_emulated = _is_emulated(stack)
    alarms = {} if is_emulated else own["AWS::CloudWatch::Alarm"]
    topics = {*own["AWS::SNS::Topic"].values()}
    alarm_topics = sorted(topics - {stack.outputs["AssignmentsTopicArn"]})
    worker = known_state(stack, ask)
    parts = {
        **_figures(stack, ask, worker),
        "aliases": ask("Lambda", aliases_of, stack, own["AWS::Lambda::Alias"].values()),
        "alarms": ask("CloudWatch", alarms_of, stack, alarms),
        "alarm_addresses": ask("SNS", addresses_of, stack, alarm_topics),
    }
    if created is None:
        parts |= dict.fromkeys(_OF_STACK)
        unknown = ", ".join(_OF_STACK).replace("_", " ")
        questions.unanswered[0] += f"; unknown are {unknown}"
    problems = [
        *recovery_problems(stack, ask, check=check, is_emulated=is_emulated),
        *delivery_problems(worker, parts["aliases"]),
        *alarm_problems(parts["alarms"] or ()),
        *address_problems(alarm_topics, parts["alarm_addresses"], stack.parameters),
        *questions.unanswered,
    ]
    return {
        "stack": stack.name,
        "place": location_of(stack),
        "region": stack.region,
        **parts,
        "problems": problems,
        "refused": bool(questions.unanswered),
        "needs_a_person": bool(parts["dead_letters"] or problems),
    }


def _figures(
    stack: Stack, ask: Callable[..., Any], worker: WorkerState | None
) -> dict[str, Any]:
    return {
        "queue": ask("SQS", message_counts, stack, "CreateTicketQueueUrl"),
        "oldest_message": ask("CloudWatch", oldest_message, stack),
        "line": ask("CloudWatch", line_of, stack),
        "dead_letters": ask("SQS", messages_on, stack, "DeadLetterQueueUrl"),
        "mappings": worker
        and [
            {
                "state": source.state,
                "function_arn": source.function_arn,
                "queue_arn": source.queue_arn,
            }
            for source in worker.sources
        ],
        "worker_stopped": worker and worker.is_stopped,
    }


def show_status(stack: Stack, *, check: bool, as_json: bool) -> Status:
    """Print the state of a stack; with `check` also the reasons for a failed check."""
    status = status_of(stack, check=check)
    if as_json:
        print_json(status)
    else:
        for line in lines_of(status, stack.program):
            print_line(line)
    if check and status["needs_a_person"]:
        print_note(f"check: not passed: {'; '.join(failed(status))}")
        return Status.PROBLEM
    return Status.CLOUD if status["refused"] else Status.OK


def failed(status: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reasons for a failed check, each in a few words."""
    if status["dead_letters"]:
        yield counted(status["dead_letters"], "dead letter")
    yield from (problem.partition(": ")[0] for problem in status["problems"])


def oldest_message(stack: Stack) -> dict[str, Any]:
    """Return the age of the queue's oldest message, and the time of that age.

    On a standard queue SQS leaves out messages that were received three times. Both are
    None if CloudWatch has no figure, for example on a queue that is idle for hours.
    """
    queue = stack.outputs["CreateTicketQueueUrl"].rpartition("/")[2]
    points = _points(
        stack,
        "AWS/SQS",
        "ApproximateAgeOfOldestMessage",
        {"QueueName": queue},
        "Maximum",
    )
    if not points:
        return {"seconds": None, "at": None}
    at = max(points)
    return {"seconds": round(points[at]), "at": utc(at)}


def line_of(stack: Stack) -> dict[str, Any]:
    """Return the longest recent wait in line, and the count of the line's failures.

    Both are None if no worker has reported them, for example without work.
    """
    service = {"service": stack.name}
    waits = _points(stack, _WORKER, "SecondsInLine", service, "Maximum")
    failures = _points(stack, _WORKER, "LineFailures", service, "Sum")
    if not failures:
        return {"longest_wait": None, "failures": None}
    return {
        "longest_wait": round(max(waits.values(), default=0.0), 1),
        "failures": round(sum(failures.values())),
    }


def _points(
    stack: Stack,
    namespace: str,
    metric: str,
    dimensions: Mapping[str, str],
    statistic: Literal["Maximum", "Sum"],
) -> dict[datetime, float]:
    """Return a statistic of the last minutes, by minute."""
    now = datetime.now(UTC)
    points: Any = stack.client("cloudwatch").get_metric_statistics(
        Namespace=namespace,
        MetricName=metric,
        Dimensions=[
            {"Name": name, "Value": value} for name, value in dimensions.items()
        ],
        StartTime=now - _SPAN,
        EndTime=now,
        Period=round(_MINUTE.total_seconds()),
        Statistics=[statistic],
    )["Datapoints"]
    return {point["Timestamp"]: point[statistic] for point in points}


def lines_of(status: Mapping[str, Any], program: str) -> Iterator[str]:
    """Yield a line for each known count and state, and for each problem."""
    yield str(status["place"])
    for name, count in (status["queue"] or {}).items():
        yield f"{name.replace('_', ' '):<{_WIDTH}}{count}"
    if status["oldest_message"] is not None:
        yield f"{'oldest message':<{_WIDTH}}{_age(status['oldest_message'])}"
    line = status["line"]
    if line and line["failures"] is not None:
        failures = counted(line["failures"], "failure")
        seconds = f"longest wait {line['longest_wait']} s, {failures}"
        yield f"{'line':<{_WIDTH}}{seconds} in {_SPAN.seconds // 60} minutes"
    if status["dead_letters"] is not None:
        yield f"{'dead letters':<{_WIDTH}}{status['dead_letters']}"
    mappings = status["mappings"] or ()
    for mapping in mappings:
        of = f", of {mapping['queue_arn'].rpartition(':')[2]}" * (len(mappings) > 1)
        yield f"{'mapping':<{_WIDTH}}{mapping['state']}{of}"
    for alias in status["aliases"] or ():
        yield f"{'alias':<{_WIDTH}}{routing(alias)}"
    if status["alarms"]:
        states = [alarm["state"] for alarm in status["alarms"]]
        on, well = states.count("ALARM"), states.count("OK")
        yield f"{'alarms':<{_WIDTH}}{on} of {len(states)} are on, {well} are OK"
    yield from status["problems"]
    if any(alarm["state"] == "ALARM" for alarm in status["alarms"] or ()):
        yield f"{docs()}on-call.md has the remedy for each alarm"
    if status["dead_letters"]:
        yield f"`{program} dead-letters list` says why"


def _age(oldest: Mapping[str, Any]) -> str:
    """Return an age as hours, minutes and seconds."""
    if oldest["seconds"] is None:
        return "unknown: CloudWatch has no figure"
    return f"{timedelta(seconds=oldest['seconds'])} old at {oldest['at']}"


def _is_emulated(stack: Stack) -> bool:
    """Tell whether AWS is an emulator on this machine, which evaluates no alarms."""
    address: str = stack.client("cloudwatch").meta.endpoint_url
    return urlsplit(address).hostname == _LOOPBACK


def _created(stack: Stack) -> Mapping[str, Mapping[str, str]]:
    """Return the stack's resources by type and logical id."""
    created: dict[str, dict[str, str]] = defaultdict(dict)
    pages = stack.client("cloudformation").get_paginator("list_stack_resources")
    for page in pages.paginate(StackName=stack.name):
        for resource in page["StackResourceSummaries"]:
            if (
                resource["ResourceStatus"] not in _REMOVED
                and "PhysicalResourceId" in resource
            ):
                name = resource["PhysicalResourceId"]
                created[resource["ResourceType"]][resource["LogicalResourceId"]] = name
    return created
