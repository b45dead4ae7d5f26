"""The state of a system, as SQS, Lambda and the alarms have it.

CloudWatch's time series are for the dashboard: asking for them costs money each time.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ticketctl.aws.queues import message_counts, messages_on
from ticketctl.aws.stack import Stack
from ticketctl.status.alarms import (
    address_problems,
    addresses_of,
    alarm_problems,
    alarms_of,
)
from ticketctl.status.delivery import (
    aliases_of,
    delivery_problems,
    mappings_of,
    routing,
)

_REMOVED: Final = ("DELETE_COMPLETE", "DELETE_SKIPPED")
"""Of resources that are the stack's no longer; API reference, StackResourceSummary."""

_WIDTH: Final = 14


def status_of(stack: Stack) -> dict[str, Any]:
    """Ask AWS; return its answers as `--json` prints them."""
    created = _created(stack)
    dead_letters = messages_on(stack, "DeadLetterQueueUrl")
    mappings = mappings_of(
        stack, [*created["AWS::Lambda::EventSourceMapping"].values()]
    )
    aliases = aliases_of(stack, [*created["AWS::Lambda::Alias"].values()])
    alarms = [*alarms_of(stack, created["AWS::CloudWatch::Alarm"])]
    topics = {*created["AWS::SNS::Topic"].values()}
    alarm_topics = sorted(topics - {stack.outputs["AssignmentsTopicArn"]})
    addresses = [*addresses_of(stack, alarm_topics)]
    problems = [
        *delivery_problems(mappings, aliases),
        *alarm_problems(alarms),
        *address_problems(alarm_topics, addresses),
    ]
    return {
        "stack": stack.name,
        "region": stack.region,
        "queue": message_counts(stack, "CreateTicketQueueUrl"),
        "dead_letters": dead_letters,
        "mappings": mappings,
        "aliases": aliases,
        "alarms": alarms,
        "alarm_addresses": addresses,
        "problems": problems,
        "needs_a_person": bool(dead_letters or problems),
    }


def lines_of(status: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each count and state, and one for each problem."""
    yield f"{status['stack']} in {status['region']}"
    for name, count in status["queue"].items():
        yield f"{name.replace('_', ' '):<{_WIDTH}}{count}"
    yield f"{'dead letters':<{_WIDTH}}{status['dead_letters']}"
    for mapping in status["mappings"]:
        yield f"{'mapping':<{_WIDTH}}{mapping['state']}"
    for alias in status["aliases"]:
        yield f"{'alias':<{_WIDTH}}{routing(alias)}"
    states = [alarm["state"] for alarm in status["alarms"]]
    on, well = states.count("ALARM"), states.count("OK")
    yield f"{'alarms':<{_WIDTH}}{on} of {len(states)} are on, {well} are OK"
    yield from status["problems"]
    if status["problems"]:
        yield "docs/operations.md says what to do about each"
    if status["dead_letters"]:
        yield "`ticketctl dead-letters list` says why"


def _created(stack: Stack) -> Mapping[str, Mapping[str, str]]:
    """Return the stack's resources: by type, and by their names in the template."""
    created: dict[str, dict[str, str]] = defaultdict(dict)
    pages = stack.client("cloudformation").get_paginator("list_stack_resources")
    for page in pages.paginate(StackName=stack.name):
        for one in page["StackResourceSummaries"]:
            if one["ResourceStatus"] not in _REMOVED and "PhysicalResourceId" in one:
                name = one["PhysicalResourceId"]
                created[one["ResourceType"]][one["LogicalResourceId"]] = name
    return created
