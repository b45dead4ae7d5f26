"""The templates and policies beside the stack's fit it; cfn-lint checks the rest."""

import json
from typing import Any, Final

import pytest
from samtranslator.yaml_helper import yaml_parse

from tests.support.aws_cli import sdk
from tests.support.builders import announcement
from tests.support.markdown_commands import EXAMPLES, ROOT, blocks
from tests.support.template_loader import Json, deployed, properties
from ticket_numbering.contract.field_types import PRIORITIES
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.observability import NAMESPACE, Metric
from ticketctl.aws.topic import topic_may_send
from ticketctl.commands.verify import PROJECT_START
from ticketctl.watch.announcements import ASSIGNED, REFUSED


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


class TestSubscription:
    """A subscriber gets what it asks for; SNS drops whatever no filter lets through."""

    def test_topic_may_send_to_the_queues_and_no_other_topic_may(self) -> None:
        """The same statement that the tools write, for both queues."""
        [tools] = json.loads(topic_may_send("queue", "topic"))["Statement"]
        [found] = of_type("subscription.yaml", "AWS::SQS::QueuePolicy")
        [statement] = found["Properties"]["PolicyDocument"]["Statement"]

        assert statement["Principal"] == tools["Principal"]
        assert statement["Action"] == tools["Action"]
        assert list(statement["Condition"]["ArnEquals"]) == ["aws:SourceArn"]

    def test_filters_name_what_is_announced(self) -> None:
        page = (ROOT / "docs" / "consuming.md").read_text(encoding="utf-8")
        shown = [yaml_parse(one)["FilterPolicy"] for one in blocks(page, "yaml")]
        [found] = of_type("subscription.yaml", "AWS::SNS::Subscription")
        of_a_producer, without_tests = shown
        *_, of_a_pipe = map(json.loads, blocks(page, "json"))
        body = of_a_pipe["body"]

        assert of_a_producer["event_type"] == [ASSIGNED, REFUSED]
        assert without_tests["project_id"] == [
            {"anything-but": {"prefix": PROJECT_START}}
        ]
        for names in (found["Properties"]["FilterPolicy"], *shown):
            assert names.keys() <= announcement().attributes.keys()
            assert {*names.get("event_type", ())} <= {ASSIGNED, REFUSED}
            assert {*names.get("priority", ())} <= {*PRIORITIES}
        assert body["type"] == [ASSIGNED]
        assert {*body["data"]["priority"]} <= {*PRIORITIES}


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


def test_heartbeat_is_a_valid_request_in_its_projects_group() -> None:
    [schedule] = of_type("heartbeat.yaml", "AWS::Scheduler::Schedule")
    target = schedule["Properties"]["Target"]

    request = CreateTicket.model_validate_json(target["Input"])

    _, group, _ = target["SqsParameters"]["Fn::If"]
    assert group == {"MessageGroupId": request.project_id}


def test_heartbeat_alarm_watches_the_replays_of_the_stack() -> None:
    """Silence is the failure, so missing data set it off."""
    [found] = of_type("heartbeat.yaml", "AWS::CloudWatch::Alarm")
    alarm, own = found["Properties"], properties("TransientFailuresAlarm")

    assert (alarm["Namespace"], alarm["MetricName"]) == (NAMESPACE, Metric.REPLAYED)
    assert [one["Name"] for one in alarm["Dimensions"]] == [
        one["Name"] for one in own["Dimensions"]
    ]
    assert alarm["TreatMissingData"] == "breaching"


STATEMENTS: Final[list[Json]] = policy("deploy-permissions.json")["Statement"]
CHARACTERS_OF_A_POLICY: Final = 6_144
"""Of a managed policy, without blanks; IAM User Guide, "IAM quotas"."""
WITHOUT_A_RESOURCE: Final = {"sns:SetSubscriptionAttributes", "sns:Unsubscribe"}
"""Service Authorization Reference, "Amazon SNS"."""


def actions(statement: Json) -> set[str]:
    listed = statement["Action"]
    return {listed} if isinstance(listed, str) else {*listed}


class TestRightsToDeploy:
    """The policy of `docs/install.md` is for the stack, and no more than that."""

    def test_policy_has_each_service_of_the_stack_and_no_other(self) -> None:
        resources = deployed(AlarmEmail="a@b.example", GradualDeployment="true")
        services = {one["Type"].split("::")[1].lower() for one in resources.values()}
        rights = set().union(*map(actions, STATEMENTS))

        # CloudFormation's own, the code's bucket, and the key.
        beside = {"cloudformation", "s3", "kms"}
        assert {one.partition(":")[0] for one in rights} == services | beside

    def test_policy_names_a_resource_unless_it_only_reads(self) -> None:
        """A mapping has none before it is there, so its function is named."""
        everywhere = [one for one in STATEMENTS if one["Resource"] == "*"]
        named = [one for one in everywhere if "Condition" in one]
        verbs = ("Describe", "Get", "List")

        assert [[*one["Condition"]["ArnLike"]] for one in named] == [
            ["lambda:FunctionArn"]
        ]
        for one in everywhere:
            writing = {
                right
                for right in actions(one) - WITHOUT_A_RESOURCE
                if not right.partition(":")[2].startswith(verbs)
            }
            assert one in named or not writing

    def test_policy_fits_one_managed_policy(self) -> None:
        text = json.dumps(policy("deploy-permissions.json"), separators=(",", ":"))

        assert len(text) <= CHARACTERS_OF_A_POLICY
