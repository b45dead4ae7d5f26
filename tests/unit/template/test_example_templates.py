"""The templates beside the stack's fit it; cfn-lint checks the rest."""

from pathlib import Path

import pytest
from samtranslator.yaml_helper import yaml_parse

from tests.support.template_loader import Json, properties, source
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.observability import NAMESPACE, Metric

ROOT = Path(__file__).parents[3]


def example(name: str) -> Json:
    text = (ROOT / "docs" / "examples" / name).read_text(encoding="utf-8")
    found: Json = yaml_parse(text)
    return found


@pytest.mark.parametrize("name", ["backup.yaml", "heartbeat.yaml"])
def test_every_role_has_the_boundary(name: str) -> None:
    resources = example(name)["Resources"].values()
    roles = [one for one in resources if one["Type"] == "AWS::IAM::Role"]

    assert roles
    for role in roles:
        chosen = role["Properties"]["PermissionsBoundary"]["Fn::If"]
        assert chosen[:2] == [
            "HasPermissionsBoundary",
            {"Ref": "PermissionsBoundaryArn"},
        ]


@pytest.fixture
def heartbeat() -> Json:
    return {
        name: resource["Properties"]
        for name, resource in example("heartbeat.yaml")["Resources"].items()
    }


def test_heartbeat_is_a_valid_request_in_its_projects_group(heartbeat: Json) -> None:
    target = heartbeat["Heartbeat"]["Target"]

    request = CreateTicket.model_validate_json(target["Input"])

    _, group, _ = target["SqsParameters"]["Fn::If"]
    assert group == {"MessageGroupId": request.project_id}


def test_heartbeat_may_use_the_key_of_the_queue(heartbeat: Json) -> None:
    [policy] = heartbeat["HeartbeatRole"]["Policies"]
    _, on_key = policy["PolicyDocument"]["Statement"]

    has_key, statement, _ = on_key["Fn::If"]
    assert (has_key, statement["Resource"]) == ("HasKmsKey", {"Ref": "KmsKeyArn"})
    assert {*statement["Action"]} == {"kms:GenerateDataKey", "kms:Decrypt"}


def test_heartbeat_takes_outputs_that_the_stack_has() -> None:
    outputs = source()["Outputs"].keys()

    assert "CreateTicketQueueArn" in outputs & example("heartbeat.yaml")["Parameters"]


def test_heartbeat_alarm_watches_the_replays_of_the_stack(heartbeat: Json) -> None:
    """Silence is the failure, so missing data set it off."""
    alarm = heartbeat["HeartbeatMissing"]
    own = properties("TransientFailuresAlarm")

    assert (alarm["Namespace"], alarm["MetricName"]) == (NAMESPACE, Metric.REPLAYED)
    assert [one["Name"] for one in alarm["Dimensions"]] == [
        one["Name"] for one in own["Dimensions"]
    ]
    assert alarm["TreatMissingData"] == "breaching"
