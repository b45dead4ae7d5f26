"""Parameters that would lose a promise are refused, with a remedy."""

import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.support.alarms import is_on, metrics_of
from tests.support.markdown_commands import on_all_pages
from tests.support.template_loader import (
    TEMPLATE,
    deployed,
    deployment_type,
    ids_of,
    parameters,
    refusals,
    source,
)
from ticketctl.local.session import FIFO_PARAMETERS, PARAMETERS

TOPIC = {"AlarmTopicArn": "arn:aws:sns:eu-west-1:123456789012:on-call"}
EMAIL = {"AlarmEmail": "on-call@example.com"}
FIFO = {"QueueType": "fifo"}
ENVIRONMENTS = tomllib.loads(TEMPLATE.with_name("samconfig.toml").read_text())


def chosen_in(overrides: str) -> dict[str, str]:
    """Return the parameters of a command's option."""
    return dict(pair.split("=", 1) for pair in overrides.split())


def deployed_as(environment: str) -> dict[str, str]:
    """Return the parameters of an environment of `samconfig.toml`."""
    options = ENVIRONMENTS[environment]["deploy"]["parameters"]
    return chosen_in(options.get("parameter_overrides", ""))


def on_pages() -> Iterator[dict[str, str]]:
    """Yield the parameters of each deployment that a page shows."""
    for shown in on_all_pages("sam"):
        for option, value in pairwise(shown.words):
            if option == "--parameter-overrides":
                yield chosen_in(value)


ACCEPTED = [
    {"BatchSize": "1"},
    {"BatchSize": "10"},
    {"BatchSize": "11", "MaximumBatchingWindow": "1"},
    {"BatchSize": "1000", "MaximumBatchingWindow": "300", "TopicType": "fifo"},
    FIFO | {"BatchSize": "10"},
    {"ProducerAccounts": "012345678901"},
    {"ProducerAccounts": "012345678901,123456789012"},
    {"PermissionsBoundaryArn": "arn:aws:iam::aws:policy/PowerUserAccess"},
    {"KmsKeyArn": "arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/mrk-0123"},
    {"MaximumConcurrency": "2"},
    {"MaximumConcurrency": "1000"},
    deployed_as("default"),
    deployed_as("dev"),
    deployed_as("prod") | TOPIC,
    deployed_as("prod") | EMAIL,
    *on_pages(),
    PARAMETERS | FIFO_PARAMETERS,
]
REFUSED = {
    "must be 1 to 1000, and above 10 it needs a MaximumBatchingWindow.": [
        {"BatchSize": "0"},
        {"BatchSize": "1001", "MaximumBatchingWindow": "1"},
    ],
    "Set MaximumBatchingWindow to 1 or more, or BatchSize to 10 or less.": [
        {"BatchSize": "11"}
    ],
    "Set BatchSize to 10 or less, or QueueType to standard.": [
        FIFO | {"BatchSize": "11", "MaximumBatchingWindow": "1"}
    ],
    "Set MaximumBatchingWindow to 0, or QueueType to standard.": [
        FIFO | {"MaximumBatchingWindow": "1"}
    ],
    "must be 0 (for ever) or 40 to 3650 days": [{"IdempotencyRetentionDays": "39"}],
    "must be 2 to 1000; Lambda takes no less than 2.": [
        {"MaximumConcurrency": "1"},
        {"MaximumConcurrency": "1001"},
    ],
    "must be 5 to 500.": [{"MaxReceiveCount": "4"}, {"MaxReceiveCount": "501"}],
    "must be 256 to 10240 MB.": [{"MemorySize": "255"}, {"MemorySize": "10241"}],
    "must be a regular expression over the characters of project ids, within": [
        {"AllowedProjects": pattern} for pattern in ("", "WEB#", "x" * 161)
    ],
    "must be 0 to 12.": [{"NumberPadding": "13"}],
    "must be account ids of 12 digits": [
        {"ProducerAccounts": accounts} for accounts in ("1234", "012345678901,*")
    ],
    "must be the ARN of a KMS key (not of an alias)": [
        {"KmsKeyArn": "arn:aws:kms:eu-west-1:123456789012:alias/tickets"}
    ],
    "must be 1 to 40 letters, digits, dots, hyphens or underscores.": [
        {"DeploymentId": text} for text in ("", "run 7", "7" * 41)
    ],
    "must be the ARN of a managed policy": [
        {"PermissionsBoundaryArn": "arn:aws:iam::123456789012:role/boundary"}
    ],
    "Set AlarmEmail or AlarmTopicArn": [deployed_as("prod")],
    "must be an e-mail address": [
        {"AlarmEmail": address}
        for address in ("on-call", "a@b@example.com", "on call@example.com")
    ],
    "must be the ARN of an SNS topic": [
        {"AlarmTopicArn": "on-call"},
        {"AlarmTopicArn": TOPIC["AlarmTopicArn"].replace("sns", "sqs")},
    ],
}


@pytest.mark.parametrize("chosen", ACCEPTED, ids=str)
def test_parameters_are_accepted_when_every_promise_stands(
    chosen: dict[str, str],
) -> None:
    assert refusals(**chosen) == []


@pytest.mark.parametrize("remedy", REFUSED)
def test_parameters_are_refused_with_a_sentence_that_says_what_to_do(
    remedy: str,
) -> None:
    for chosen in REFUSED[remedy]:
        assert any(remedy in sentence for sentence in refusals(**chosen))


def test_all_is_described_and_a_bound_has_a_sentence_of_its_refusal() -> None:
    bounds = {"MinValue", "MaxValue", "MinLength", "MaxLength", "AllowedPattern"}

    for name, rule in parameters().items():
        assert "ConstraintDescription" in rule or not bounds & rule.keys(), name
    for entry in (*parameters().values(), *source()["Outputs"].values()):
        assert entry["Description"]


class TestGradualDeployment:
    """A new version takes over step by step only where that is asked for."""

    def test_deployment_rolls_back_on_alarms_on_the_worker_when_gradual(self) -> None:
        """And waits for as many periods as the slowest of them looks at."""
        resources = deployed(**deployed_as("prod"), **TOPIC)

        group = resources["NumberingWorkerDeploymentGroup"]["Properties"]
        assert group["AutoRollbackConfiguration"]["Enabled"]
        names = {
            alarm["Name"].strip("${}")
            for alarm in group["AlarmConfiguration"]["Alarms"]
        }
        assert names == {
            "CanaryErrorsAlarm",
            "TransientFailuresAlarm",
            "AnnouncementsFailedAlarm",
            "MetricsMissingAlarm",
            "PoisonShareAlarm",
        }
        slowest = max(
            period * alarm["EvaluationPeriods"]
            for alarm in (resources[name]["Properties"] for name in names)
            for _, _, period in metrics_of(alarm)
        )
        [minutes] = re.findall(r"(\d+)Minutes", deployment_type())
        assert int(minutes) * 60 >= slowest

    def test_one_error_of_the_new_version_rolls_back_and_notifies(self) -> None:
        resources = deployed(**deployed_as("prod"), **TOPIC)
        [version] = ids_of("AWS::Lambda::Version", **deployed_as("prod"))
        alarm = resources["CanaryErrorsAlarm"]["Properties"]

        assert {
            dimension["Name"]: dimension["Value"] for dimension in alarm["Dimensions"]
        } == {
            "FunctionName": "${NumberingWorker}",
            "Resource": "${NumberingWorker}:live",
            "ExecutedVersion": f"${{{version}.Version}}",
        }
        policy = resources["NumberingWorkerAliaslive"]["UpdatePolicy"]
        group = policy["CodeDeployLambdaAliasUpdate"]["DeploymentGroupName"]
        assert group == "${NumberingWorkerDeploymentGroup}"
        assert alarm["Statistic"] == "Sum"
        assert is_on(alarm, {alarm["MetricName"]: [0, 1]})
        assert alarm["MetricName"] == "Errors"
        assert alarm["AlarmActions"] == [*TOPIC.values()]
