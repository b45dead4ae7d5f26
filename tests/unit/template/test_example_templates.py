"""The templates and policies beside the stack's fit it; cfn-lint checks the rest."""

import json
import re
from typing import Any

import pytest
from samtranslator.yaml_helper import yaml_parse

from tests.support.aws_cli import sdk
from tests.support.builders import announcement
from tests.support.paths import EXAMPLES
from tests.support.template_loader import Json, parameters, properties, source
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.contract.values import PRIORITIES
from ticket_numbering.worker.observability import NAMESPACE, Metric
from ticketctl.aws.announcements import ASSIGNED, REFUSED
from ticketctl.aws.topic import topic_may_send

ALARM = "AWS::CloudWatch::Alarm"


def example(name: str) -> Json:
    template: Json = yaml_parse((EXAMPLES / name).read_text(encoding="utf-8"))
    return template


def policy(name: str) -> Any:
    return json.loads((EXAMPLES / name).read_text(encoding="utf-8"))


def of_type(name: str, kind: str) -> list[Json]:
    resources = example(name)["Resources"].values()
    return [resource for resource in resources if resource["Type"] == kind]


@pytest.mark.parametrize("name", ["backup.yaml", "heartbeat.yaml"])
def test_every_role_has_the_boundary_and_serves_this_account_alone(name: str) -> None:
    roles = of_type(name, "AWS::IAM::Role")

    assert roles
    for role in roles:
        chosen = role["Properties"]["PermissionsBoundary"]["Fn::If"]
        assert chosen[:2] == [
            "HasPermissionsBoundary",
            {"Ref": "PermissionsBoundaryArn"},
        ]
        [trust] = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        account = {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
        assert trust["Condition"] == {"StringEquals": account}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("subscription.yaml", "AWS::SQS::Queue"),
        ("backup.yaml", "AWS::Backup::BackupVault"),
    ],
)
def test_data_outlives_the_stack(name: str, kind: str) -> None:
    for resource in of_type(name, kind):
        assert resource["DeletionPolicy"].startswith("Retain")
        assert resource["UpdateReplacePolicy"] == "Retain"


def test_trail_shows_writes_and_who_gave_themselves_the_right_to_them() -> None:
    """Selectors replace the management events that a trail has by default."""
    management, data = (
        {field["Field"]: field["Equals"] for field in selector["FieldSelectors"]}
        for selector in policy("write-events.json")
    )

    assert management == {"eventCategory": ["Management"]}
    assert (data["eventCategory"], data["readOnly"]) == (["Data"], ["false"])


@pytest.mark.parametrize("service", ["logs.eu-west-1", "cloudwatch", "sns"])
def test_key_admits_a_service_of_this_account_for_its_calls(service: str) -> None:
    [statement] = [
        statement
        for statement in policy("key-policy.json")["Statement"]
        if statement["Principal"].get("Service") == f"{service}.amazonaws.com"
    ]
    [condition] = statement["Condition"].values()

    decrypts = {"kms:Decrypt", "kms:Decrypt*"} & {*statement["Action"]}
    assert "kms:GenerateDataKey*" in statement["Action"]
    assert decrypts
    context = "kms:EncryptionContext:aws:logs:arn"
    assert condition.keys() <= {"aws:SourceAccount", context}


def test_copies_are_kept_as_long_as_point_in_time_recovery_reaches() -> None:
    assert example("backup.yaml")["Parameters"]["RetentionDays"]["Default"] == 35


class TestSubscription:
    """A subscriber gets its events; SNS drops all others by the filter."""

    def test_topic_may_send_to_the_queues_and_no_other_topic_may(self) -> None:
        """The same statement that the tools write, for both queues."""
        [tools] = json.loads(topic_may_send("queue", "topic"))["Statement"]
        [resource] = of_type("subscription.yaml", "AWS::SQS::QueuePolicy")
        [statement] = resource["Properties"]["PolicyDocument"]["Statement"]

        assert statement["Principal"] == tools["Principal"]
        assert statement["Action"] == tools["Action"]
        assert list(statement["Condition"]["ArnEquals"]) == ["aws:SourceArn"]

    def test_dead_announcement_has_days_left_when_it_waited_in_the_queue(self) -> None:
        """A message that SQS moves keeps its age."""
        queues = of_type("subscription.yaml", "AWS::SQS::Queue")
        live, dead = (queue["Properties"]["MessageRetentionPeriod"] for queue in queues)

        assert dead >= live + 7 * 24 * 60 * 60

    def test_filter_names_what_is_announced(self) -> None:
        [resource] = of_type("subscription.yaml", "AWS::SNS::Subscription")
        names = resource["Properties"]["FilterPolicy"]

        assert names.keys() <= announcement().attributes.keys()
        assert {*names.get("event_type", ())} <= {ASSIGNED, REFUSED}
        assert {*names.get("priority", ())} <= {*PRIORITIES}


def test_terraform_names_parameters_and_outputs_that_exist() -> None:
    snippet = (EXAMPLES / "stack.tf").read_text(encoding="utf-8")
    [given] = re.findall(r"parameters *= *\{(.*?)\}", snippet, re.DOTALL)

    assert {*re.findall(r"(\w+) *=", given)} <= parameters().keys()
    assert {*re.findall(r'outputs\["(\w+)', snippet)} <= source()["Outputs"].keys()


WRITES = ("BatchWrite", "Delete", "Put", "Update")
# On Kinesis and Contributor Insights, which read; on global tables, where the stack
# has none; of backups, whose resource has no policy.
HARMLESS = {
    "dynamodb:DeleteBackup",
    "dynamodb:UpdateContributorInsights",
    "dynamodb:UpdateGlobalTable",
    "dynamodb:UpdateGlobalTableSettings",
    "dynamodb:UpdateKinesisStreamingDestination",
    "dynamodb:UpdateTableReplicaAutoScaling",
}


def test_denied_writes_are_all_that_change_a_table_or_its_items() -> None:
    [denied] = policy("deny-writes.json")["Statement"]
    operations = {
        f"dynamodb:{name}"
        for name in sdk().get_service_model("dynamodb").operation_names
        if name.startswith(WRITES)
    }
    # Statements in SQL have rights of their own.
    partiql = {f"dynamodb:PartiQL{verb}" for verb in ("Delete", "Insert", "Update")}

    assert denied["Effect"] == "Deny"
    assert {*denied["Action"]} == (operations - HARMLESS) | partiql


def test_heartbeat_is_a_valid_request_in_its_group_and_may_use_the_key() -> None:
    [role] = of_type("heartbeat.yaml", "AWS::IAM::Role")
    [schedule] = of_type("heartbeat.yaml", "AWS::Scheduler::Schedule")
    target = schedule["Properties"]["Target"]

    request = CreateTicket.model_validate_json(target["Input"])

    _, group, _ = target["SqsParameters"]["Fn::If"]
    assert group == {"MessageGroupId": request.project_id}
    _, on_key = role["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
    assert {*on_key["Fn::If"][1]["Action"]} == {"kms:GenerateDataKey", "kms:Decrypt"}


def test_failed_jobs_of_the_vault_notify_when_they_fail_once() -> None:
    alarms = [resource["Properties"] for resource in of_type("backup.yaml", ALARM)]

    assert {alarm["MetricName"] for alarm in alarms} == {
        "NumberOfBackupJobsFailed",
        "NumberOfCopyJobsFailed",
    }
    for alarm in alarms:
        assert alarm["Dimensions"] == [
            {"Name": "BackupVaultName", "Value": {"Ref": "VaultName"}}
        ]
        assert alarm["AlarmActions"] == [{"Ref": "AlarmTopicArn"}]
        assert (alarm["EvaluationPeriods"], alarm["Threshold"]) == (1, 1)


def test_heartbeat_alarm_watches_the_replays_of_the_stack() -> None:
    """Silence is the failure, so missing data set it off."""
    [resource] = of_type("heartbeat.yaml", ALARM)
    alarm, own = resource["Properties"], properties("TransientFailuresAlarm")

    assert (alarm["Namespace"], alarm["MetricName"]) == (NAMESPACE, Metric.REPLAYED)
    assert [dimension["Name"] for dimension in alarm["Dimensions"]] == [
        dimension["Name"] for dimension in own["Dimensions"]
    ]
    assert alarm["TreatMissingData"] == "breaching"
