"""The states of a stack's alarms."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ticketctl.system.stack import Stack

_MAX_NAMES: Final = 100  # DescribeAlarms.

IN_ALARM: Final = "ALARM"


@dataclass(frozen=True)
class Alarm:
    """An alarm of the stack, as CloudWatch sees it at the moment."""

    name: str
    """What the template calls it."""
    state: str
    since: datetime | None
    reason: str

    @property
    def is_on(self) -> bool:
        """Whether a person should look."""
        return self.state == IN_ALARM


def alarm_names(stack: Stack) -> dict[str, str]:
    """Return the template's names of the stack's alarms, by their own."""
    pages = stack.client("cloudformation").get_paginator("list_stack_resources")
    return {
        each["PhysicalResourceId"]: each["LogicalResourceId"]
        for page in pages.paginate(StackName=stack.name)
        for each in page["StackResourceSummaries"]
        # One that is just being made has no name of its own yet.
        if each["ResourceType"] == "AWS::CloudWatch::Alarm"
        and each.get("PhysicalResourceId")
    }


def alarm_states(cloudwatch: Any, names: Mapping[str, str]) -> list[Alarm]:
    """Return the alarms, those that are on first, then by name."""
    found = [
        _alarm(each, names[each["AlarmName"]])
        for some in _chunks(list(names))
        for each in cloudwatch.describe_alarms(
            AlarmNames=some, MaxRecords=_MAX_NAMES
        ).get("MetricAlarms", [])
    ]
    return sorted(found, key=lambda alarm: (not alarm.is_on, alarm.name))


def _alarm(answer: Mapping[str, Any], name: str) -> Alarm:
    since = answer.get("StateUpdatedTimestamp")
    return Alarm(name, answer["StateValue"], since, answer.get("StateReason", ""))


def _chunks(names: list[str]) -> Iterable[list[str]]:
    for start in range(0, len(names), _MAX_NAMES):
        yield names[start : start + _MAX_NAMES]
