"""The check of a gradual update sees a wrong order, without AWS."""

from dataclasses import replace
from typing import Any

import pytest

from conformance.gradual import Seen, contradictions, update
from tests.support.ctl_process import canned_stack
from ticketctl.cli.errors import InputError

BEFORE = Seen("UPDATE_COMPLETE", "7", (), "7")
ALARM_FIRST = replace(BEFORE, status="UPDATE_IN_PROGRESS", watched="8")
SHARED = replace(ALARM_FIRST, share=(("8", 0.1),))
AFTER = Seen("UPDATE_COMPLETE", "8", (), "8")
GOOD = (BEFORE, ALARM_FIRST, SHARED, AFTER)


def test_nothing_is_contradicted_when_the_alarm_moves_before_the_alias() -> None:
    assert [*contradictions(GOOD)] == []


@pytest.mark.parametrize(
    ("moments", "said"),
    [
        ((BEFORE, replace(SHARED, watched="7"), AFTER), "while CanaryErrorsAlarm"),
        ((BEFORE, replace(SHARED, share=(("8", 1.0),)), AFTER), "gets 100%"),
        ((BEFORE, ALARM_FIRST, AFTER), "no share was seen"),
        (
            (*GOOD[:3], replace(BEFORE, status="UPDATE_ROLLBACK_COMPLETE")),
            "ended with UPDATE_ROLLBACK_COMPLETE",
        ),
        ((*GOOD[:3], BEFORE), "alias is version 7"),
        ((*GOOD[:3], replace(AFTER, share=(("9", 0.1),))), "still shared"),
    ],
)
def test_update_is_contradicted_when_it_is_out_of_order(
    moments: tuple[Seen, ...], said: str
) -> None:
    assert said in "; ".join(contradictions(moments))


class Deployed:
    """A stack whose update takes a moment for each look."""

    def __init__(self, *moments: Seen, gradual: str = "true") -> None:
        self.moments, self.gradual = [*moments], gradual
        self.updates: list[dict[str, Any]] = []

    def describe_stacks(self, **_: Any) -> dict[str, Any]:
        values = {"GradualDeployment": self.gradual, "DeploymentId": "1", "Key": "k"}
        parameters = [
            {"ParameterKey": name, "ParameterValue": value}
            for name, value in values.items()
        ]
        status = self.moments[0].status
        return {"Stacks": [{"StackStatus": status, "Parameters": parameters}]}

    def update_stack(self, **request: Any) -> None:
        self.updates.append(request)

    def describe_stack_resource(self, **_: Any) -> dict[str, Any]:
        return {"StackResourceDetail": {"PhysicalResourceId": "an-alarm"}}

    def describe_alarms(self, **_: Any) -> dict[str, Any]:
        watched = {"Name": "ExecutedVersion", "Value": self.moments[0].watched}
        return {"MetricAlarms": [{"Dimensions": [watched]}]}

    def get_alias(self, **_: Any) -> dict[str, Any]:
        seen = self.moments[0] if len(self.moments) == 1 else self.moments.pop(0)
        routing = {"AdditionalVersionWeights": dict(seen.share)}
        return {"FunctionVersion": seen.version, "RoutingConfig": routing}


def stack_on(deployed: Deployed) -> Any:
    clients = dict.fromkeys(("cloudformation", "cloudwatch", "lambda"), deployed)
    return canned_stack({"WorkerFunctionName": "worker"}, **clients)


def test_each_change_is_seen_when_the_stack_is_updated_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    deployed = Deployed(BEFORE, ALARM_FIRST, ALARM_FIRST, SHARED, AFTER)

    assert tuple(update(stack_on(deployed))) == GOOD

    [asked] = deployed.updates
    values = {
        parameter.pop("ParameterKey"): parameter for parameter in asked["Parameters"]
    }
    kept = {"UsePreviousValue": True}
    assert values.pop("DeploymentId")["ParameterValue"] != "1"
    assert values == {"GradualDeployment": kept, "Key": kept}


def test_stack_is_left_alone_when_it_is_not_deployed_gradually() -> None:
    deployed = Deployed(BEFORE, gradual="false")

    with pytest.raises(InputError, match="GradualDeployment=true"):
        next(update(stack_on(deployed)))

    assert deployed.updates == []
