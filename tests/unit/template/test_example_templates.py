"""The templates and policies beside the stack's fit it; cfn-lint checks the rest."""

import json
from typing import Any

import pytest
from samtranslator.yaml_helper import yaml_parse

from tests.support.aws_cli import sdk
from tests.support.markdown_commands import EXAMPLES
from tests.support.template_loader import Json, properties, source
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.observability import NAMESPACE, Metric


def example(name: str) -> Json:
    found: Json = yaml_parse((EXAMPLES / name).read_text(encoding="utf-8"))
    return found


def policy(name: str) -> Any:
    return json.loads((EXAMPLES / name).read_text(encoding="utf-8"))


def of_type(name: str, kind: str) -> list[Json]:
    resources = example(name)["Resources"].values()
    return [one for one in resources if one["Type"] == kind]


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


def logged(event: dict[str, str]) -> bool:
    """Tell whether the trail of the example logs an event: if any selector fits."""
    return any(
        all(
            event.get(field["Field"]) in field["Equals"]
            for field in selector["FieldSelectors"]
        )
        for selector in policy("write-events.json")
    )


WRITE = {
    "eventCategory": "Data",
    "resources.type": "AWS::DynamoDB::Table",
    "readOnly": "false",
    "resources.ARN": "arn:aws:dynamodb:eu-west-1:123456789012:table/TICKETS",
}


class TestTrail:
    """The trail shows writers, and who gave themselves the right to write."""

    def test_write_is_logged_and_a_read_is_not(self) -> None:
        assert logged(WRITE)
        assert not logged(WRITE | {"readOnly": "true"})

    @pytest.mark.parametrize("read_only", ["true", "false"])
    def test_management_events_are_logged_although_selectors_are_replaced(
        self, read_only: str
    ) -> None:
        """Such as AssumeRole and UpdateFunctionCode; a trail has them by default."""
        assert logged({"eventCategory": "Management", "readOnly": read_only})


TO_PUBLISH = {"kms:Decrypt", "kms:GenerateDataKey*"}
OF_THE_ACCOUNT = ["aws:SourceAccount"]
USES_OF_THE_KEY = {
    # CloudWatch Logs User Guide, "Encrypt log data in CloudWatch Logs using AWS KMS".
    "logs.eu-west-1.amazonaws.com": (
        {f"kms:{verb}*" for verb in ("Encrypt", "Decrypt", "ReEncrypt", "Describe")}
        | {"kms:GenerateDataKey*"},
        ["kms:EncryptionContext:aws:logs:arn"],
    ),
    "cloudwatch.amazonaws.com": (TO_PUBLISH, OF_THE_ACCOUNT),
    "sns.amazonaws.com": (TO_PUBLISH, OF_THE_ACCOUNT),
}


def test_key_admits_services_of_this_account_for_their_calls() -> None:
    found = {
        one["Principal"]["Service"]: (
            {*one["Action"]},
            [name for condition in one["Condition"].values() for name in condition],
        )
        for one in policy("key-policy.json")["Statement"]
        if "Service" in one["Principal"]
    }

    assert found == USES_OF_THE_KEY


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


def test_copies_are_daily_and_kept_for_35_days_in_a_vault_of_a_name_of_its_own() -> (
    None
):
    """As long as point-in-time recovery reaches; a stack's name may be too long."""
    parameters = example("backup.yaml")["Parameters"]
    [vault] = of_type("backup.yaml", "AWS::Backup::BackupVault")

    assert parameters["Schedule"]["Default"][5:-1].split()[2:] == ["*", "*", "?", "*"]
    assert parameters["RetentionDays"]["Default"] == 35
    assert vault["Properties"]["BackupVaultName"] == {"Ref": "VaultName"}


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
