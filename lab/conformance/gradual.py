"""One gradual update of a stack on AWS, watched: nothing else has seen one."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Final

from ticketctl.aws.stack import Stack
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import print_note

ALIAS: Final = "live"
ALARM: Final = "CanaryErrorsAlarm"
SHARE: Final = 0.1
EVERY_SECONDS: Final = 10
_DONE: Final = "UPDATE_COMPLETE"
_GOING_ON: Final = "_IN_PROGRESS"


@dataclass(frozen=True)
class Seen:
    """The stack at one moment of the update."""

    status: str
    """CloudFormation's, of the stack."""
    version: str
    """The versions of the alias."""
    share: tuple[tuple[str, float], ...]
    """Other versions that the alias gives batches to, and their shares."""
    watched: str
    """The version that the canary's alarm watches."""

    @property
    def is_over(self) -> bool:
        """Whether the update has ended, well or not."""
        return not self.status.endswith(_GOING_ON)


def contradictions(moments: Iterable[Seen]) -> Iterator[str]:
    """Yield the contradictions of the template's order, and of docs/operations.md."""
    first = last = None
    shifted = False
    for seen in moments:
        first, last = first or seen, seen
        for version, share in seen.share:
            shifted = True
            if share != SHARE:
                yield f"version {version} gets {share:.0%} of the batches"
            if seen.watched != version:
                yield f"{version} has a share while {ALARM} watches {seen.watched}"
    if first is None or last is None:
        return
    if not shifted:
        yield "no share was seen: the update moved the alias at once, or not at all"
    if last.status != _DONE:
        yield f"the update ended with {last.status}"
    if last.share or last.version == first.version:
        yield f"the alias is version {last.version}, as before, or still shared"


def update(stack: Stack) -> Iterator[Seen]:
    """Publish the same build as a new version, and yield each change of the stack.

    Raises:
        InputError: The stack is not deployed gradually.
    """
    cloudformation = stack.client("cloudformation")
    [described] = cloudformation.describe_stacks(StackName=stack.name)["Stacks"]
    values = {
        parameter["ParameterKey"]: parameter for parameter in described["Parameters"]
    }
    if values["GradualDeployment"]["ParameterValue"] != "true":
        raise InputError(f"deploy {stack.name} with GradualDeployment=true first")
    kept = [
        {"ParameterKey": name, "UsePreviousValue": True}
        for name in values
        if name != "DeploymentId"
    ]
    new = {"ParameterKey": "DeploymentId", "ParameterValue": token_hex(4)}
    before = seen = _look(stack)
    yield before
    cloudformation.update_stack(
        StackName=stack.name,
        UsePreviousTemplate=True,
        Parameters=[*kept, new],
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
    )
    while True:
        time.sleep(EVERY_SECONDS)
        if (now := _look(stack)) != seen:
            print_note(f"{now.status}, {ALIAS} is {now.version}, shares {[*now.share]}")
            yield (seen := now)
        if now.is_over:
            return


def _look(stack: Stack) -> Seen:
    """Ask about the alarm first, so that one that follows the share is seen late."""
    cloudformation = stack.client("cloudformation")
    [described] = cloudformation.describe_stacks(StackName=stack.name)["Stacks"]
    resource = cloudformation.describe_stack_resource(
        StackName=stack.name, LogicalResourceId=ALARM
    )["StackResourceDetail"]
    [alarm] = stack.client("cloudwatch").describe_alarms(
        AlarmNames=[resource["PhysicalResourceId"]]
    )["MetricAlarms"]
    alias: dict[str, Any] = stack.client("lambda").get_alias(
        FunctionName=stack.outputs["WorkerFunctionName"], Name=ALIAS
    )
    weights = alias.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
    watched = {
        dimension["Name"]: dimension["Value"] for dimension in alarm["Dimensions"]
    }
    return Seen(
        described["StackStatus"],
        alias["FunctionVersion"],
        tuple(sorted(weights.items())),
        watched["ExecutedVersion"],
    )
