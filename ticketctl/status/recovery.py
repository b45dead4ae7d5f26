"""The settings that a recovery depends on, and that may be lost by hand."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from botocore.exceptions import ClientError

from ticket_numbering.contract import aws_codes
from ticketctl.aws.aws_errors import Suppressed, is_not_there
from ticketctl.aws.stack import Stack
from ticketctl.cli.pages import docs

_ON: Final = {"ENABLED", "ENABLING"}


def recovery_problems(
    stack: Stack, ask: Callable[..., Any], *, check: bool, is_emulated: bool
) -> Iterator[str]:
    """Yield a line for each missing resource or setting, with its cure.

    Without --check only the tables are read, because the rest needs more rights. An
    emulator protects nothing.
    """
    asks_settings = check and not is_emulated
    for name in ("TicketsTableName", "IdempotencyKeysTableName"):
        yield from ask("DynamoDB", _of_table, stack, name, asks_settings) or ()
    if not check:
        return
    yield from ask("SNS", _of_topic, stack) or ()
    if not is_emulated:
        yield from ask("CloudFormation", _of_stack, stack) or ()


def _of_table(stack: Stack, output: str, asks_settings: bool) -> list[str]:  # noqa: FBT001 - as it is asked.
    dynamodb, name = stack.client("dynamodb"), stack.outputs[output]
    try:
        table = dynamodb.describe_table(TableName=name)["Table"]
    except ClientError as error:
        if not is_not_there(error):
            raise
        page = f"{docs()}recovery.md#a-table-was-deleted-bring-its-last-backup-back"
        return [f"the table {name} is gone: see {page}"]
    if not asks_settings:
        return []
    described = dynamodb.describe_continuous_backups(TableName=name)
    backups = described["ContinuousBackupsDescription"][
        "PointInTimeRecoveryDescription"
    ]
    problems = []
    if not table.get("DeletionProtectionEnabled"):
        problems.append(
            f"the table {name} has no deletion protection: aws dynamodb update-table "
            f"--table-name {name} --deletion-protection-enabled"
        )
    if backups["PointInTimeRecoveryStatus"] not in _ON:
        problems.append(
            f"the table {name} has no point-in-time recovery: aws dynamodb "
            f"update-continuous-backups --table-name {name} --point-in-time-recovery-"
            "specification PointInTimeRecoveryEnabled=true"
        )
    if output == "IdempotencyKeysTableName":
        described = dynamodb.describe_time_to_live(TableName=name)[
            "TimeToLiveDescription"
        ]
        if described["TimeToLiveStatus"] not in _ON:
            problems.append(
                f"no key of the table {name} expires: aws dynamodb update-time-to-live "
                f"--table-name {name} --time-to-live-specification "
                "Enabled=true,AttributeName=expires_at"
            )
    return problems


def _of_topic(stack: Stack) -> list[str]:
    topic = stack.outputs["AssignmentsTopicArn"]
    with Suppressed(aws_codes.NOT_THERE):
        stack.client("sns").get_topic_attributes(TopicArn=topic)
        return []
    page = f"{docs()}operations.md#a-topic-or-a-queue-is-gone"
    return [f"the topic {topic} is gone: see {page}"]


def _of_stack(stack: Stack) -> list[str]:
    cloudformation = stack.client("cloudformation")
    [described] = cloudformation.describe_stacks(StackName=stack.name)["Stacks"]
    policy = cloudformation.get_stack_policy(StackName=stack.name)
    problems = []
    if not described.get("EnableTerminationProtection"):
        problems.append(
            "the stack has no termination protection: aws cloudformation "
            "update-termination-protection --enable-termination-protection "
            f"--stack-name {stack.name}"
        )
    if not policy.get("StackPolicyBody"):
        problems.append(
            "the stack has no stack policy: aws cloudformation set-stack-policy "
            f"--stack-name {stack.name} "
            "--stack-policy-body file://docs/examples/stack-policy.json"
        )
    return problems
