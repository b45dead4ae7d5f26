"""The state of a system, as SQS and the alarms have it.

CloudWatch's time series are for the dashboard: asking for them costs money each time.
"""

from collections.abc import Iterator
from typing import Any, Final

from ticketctl.aws.queues import message_counts, messages_on
from ticketctl.aws.stack import Stack
from ticketctl.cli.output import visible

_REASON_WIDTH: Final = 200


def status_of(stack: Stack) -> dict[str, Any]:
    """Ask SQS and CloudWatch; return their answers as `--json` prints them."""
    dead_letters = messages_on(stack, "DeadLetterQueueUrl")
    alarms = [*_alarms(stack)]
    is_alarmed = any(alarm["state"] == "ALARM" for alarm in alarms)
    return {
        "stack": stack.name,
        "region": stack.region,
        "queue": message_counts(stack, "CreateTicketQueueUrl"),
        "dead_letters": dead_letters,
        "alarms": alarms,
        "needs_a_person": bool(dead_letters) or is_alarmed,
    }


def lines_of(status: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each count, and one for each alarm that is on."""
    yield f"{status['stack']} in {status['region']}"
    for name, count in status["queue"].items():
        yield f"{name.replace('_', ' '):<14}{count}"
    yield f"{'dead letters':<14}{status['dead_letters']}"
    on = [alarm for alarm in status["alarms"] if alarm["state"] == "ALARM"]
    yield f"{'alarms':<14}{len(on)} of {len(status['alarms'])} are on"
    for alarm in on:
        reason = visible(alarm["reason"], _REASON_WIDTH)
        yield f"{alarm['name']} since {alarm['since']}: {reason}"
    if on:
        yield "docs/operations.md says what to do about each alarm"
    if status["dead_letters"]:
        yield "`ticketctl dead-letters list` says why"


def _alarms(stack: Stack) -> Iterator[dict[str, str]]:
    """Yield the stack's alarms; CloudFormation names them STACK-LOGICALID-SUFFIX."""
    prefix = f"{stack.name}-"
    pages = stack.client("cloudwatch").get_paginator("describe_alarms")
    for page in pages.paginate(AlarmNamePrefix=prefix, AlarmTypes=["MetricAlarm"]):
        for alarm in page["MetricAlarms"]:
            logical_id, *suffixes = alarm["AlarmName"].removeprefix(prefix).split("-")
            # Else it is an alarm of a stack whose name begins with this one's.
            if len(suffixes) == 1:
                yield {
                    "name": logical_id,
                    "state": alarm["StateValue"],
                    "since": alarm["StateUpdatedTimestamp"].isoformat(
                        timespec="seconds"
                    ),
                    "reason": alarm.get("StateReason", ""),
                }
