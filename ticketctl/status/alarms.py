"""The stack's alarms, and the addresses that they notify.

The stack lists the alarms that it created, because the template decides their number.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ticketctl.aws.stack import StackAccess
from ticketctl.cli.output import sanitized, utc

MISSING: Final = "MISSING"
"""The state of an alarm that the stack created and that was deleted."""

NO_DATA: Final = "INSUFFICIENT_DATA"

_REASON_WIDTH: Final = 200
_MAX_NAMED: Final = 2
"""The alarms without data that are printed; JSON has all."""


def alarms_of(stack: StackAccess, created: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return each alarm that the stack created, even a deleted one.

    `created` has their names, by logical id.
    """
    described: dict[str, Any] = {}
    if created:  # Without names CloudWatch would describe every alarm.
        pages = stack.client("cloudwatch").get_paginator("describe_alarms")
        for page in pages.paginate(AlarmNames=[*created.values()]):
            described |= {alarm["AlarmName"]: alarm for alarm in page["MetricAlarms"]}
    return [
        _described(logical_id, described.get(name, {}))
        for logical_id, name in created.items()
    ]


def addresses_of(stack: StackAccess, topic_arns: Sequence[str]) -> list[dict[str, Any]]:
    """Return the subscriptions to the stack's own alarm topic."""
    pages = stack.client("sns").get_paginator("list_subscriptions_by_topic")
    return [
        {
            "address": subscription["Endpoint"],
            # Otherwise the ARN is `PendingConfirmation` or `Deleted`.
            "confirmed": subscription["SubscriptionArn"].startswith("arn:"),
        }
        for topic_arn in topic_arns
        for page in pages.paginate(TopicArn=topic_arn)
        for subscription in page["Subscriptions"]
    ]


def alarm_problems(alarms: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each alarm that is on, and for those that cannot notify."""
    for alarm in alarms:
        name, reason = alarm["name"], sanitized(alarm["reason"], _REASON_WIDTH)
        if alarm["state"] == MISSING:
            yield f"{name} is missing: it was deleted"
        elif alarm["state"] == "ALARM":
            yield f"{name} since {alarm['since']}: {reason}"
        if not alarm["actions_enabled"] and alarm["state"] != MISSING:
            yield f"{name} is switched off: its actions are disabled"
    silent = [alarm for alarm in alarms if alarm["state"] == NO_DATA]
    if silent:  # One line for all, because a new or an idle stack has many.
        since = min(alarm["since"] for alarm in silent)
        names = ", ".join(alarm["name"] for alarm in silent[:_MAX_NAMED])
        more = len(silent) - _MAX_NAMED
        yield (
            f"{len(silent)} of {len(alarms)} alarms have no data, since {since} at "
            f"the earliest: {names}" + f" and {more} more" * (more > 0)
        )
    there = [alarm for alarm in alarms if alarm["state"] != MISSING]
    if unheard := sum(not alarm["notifies"] for alarm in there):
        yield (
            f"{unheard} of {len(there)} alarms have no receiver: "
            "set AlarmEmail or AlarmTopicArn"
        )


def address_problems(
    topic_arns: Sequence[str],
    addresses: Sequence[Mapping[str, Any]] | None,
    parameters: Mapping[str, str],
) -> Iterator[str]:
    """Yield a line for each address that does not, or may not, get alarms.

    The addresses are None if they are unknown.
    """
    key, other_topic = map(parameters.get, ("KmsKeyArn", "AlarmTopicArn"))
    if topic_arns and key and not other_topic:
        yield (
            "a disabled KmsKeyArn silences AlarmEmail too: "
            "set AlarmTopicArn to a topic under another key"
        )
    if topic_arns and addresses == []:
        yield "the alarm topic has no subscription: AlarmEmail gets no alarm"
    for subscription in addresses or ():
        if not subscription["confirmed"]:
            address = sanitized(subscription["address"], _REASON_WIDTH)
            yield f"{address} has not confirmed its subscription: it gets no alarm"


def _described(name: str, alarm: Mapping[str, Any]) -> dict[str, Any]:
    since = alarm.get("StateUpdatedTimestamp")
    return {
        "name": name,
        "state": alarm.get("StateValue", MISSING),
        "since": since and utc(since),
        "reason": alarm.get("StateReason", ""),
        "actions_enabled": alarm.get("ActionsEnabled", False),
        "notifies": bool(alarm.get("AlarmActions")),
    }
