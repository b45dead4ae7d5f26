"""Deploys the template, except for the code's address and metric math.

`CodeUri` has the uploaded artifact, as after `sam package`. The emulator's
CloudFormation rejects alarms with metric math.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import ClientError, WaiterError
from samtranslator.yaml_helper import yaml_parse

from ticket_numbering.contract.attributes import is_fifo
from ticketctl.aws.outputs import outputs_of
from ticketctl.cli.errors import ToolError
from ticketctl.local.clients import REGION, Clients

STACK = "local"
FUNCTION = "NumberingWorker"
_BUCKET = "artifacts"
_KEY = "worker.zip"
# The first deployment of an emulator loads its template translator: up to 4 s.
_WAIT: Final = {"Delay": 0.02, "MaxAttempts": 3000}


def deploy(
    clients: Clients, template: Path, artifact: Path, parameters: Mapping[str, str]
) -> dict[str, str]:
    """Deploy the template, wait until all of it is there, and return its outputs.

    Raises:
        ToolError: The template lacks one of the parameters, is rejected, or fails to
            create a resource.
    """
    document = yaml_parse(template.read_text(encoding="utf-8"))
    _reject_unknown(parameters, document)
    function = document["Resources"][FUNCTION]["Properties"]
    function["CodeUri"] = f"s3://{_BUCKET}/{_KEY}"
    simplify_alarms(document)
    # YAML reads an unquoted policy version as a date.
    body = json.dumps(document, default=str)
    _upload(clients, artifact)
    outputs = create_stack(clients.client("cloudformation"), STACK, body, parameters)
    _repair_fifo_topics(clients.client("sns"))
    repair_concurrency(clients.client("lambda"))
    return outputs


def simplify_alarms(document: Mapping[str, Any]) -> None:
    """Reduce each alarm with metric math to its first metric."""
    for resource in document["Resources"].values():
        if queries := resource.get("Properties", {}).pop("Metrics", None):
            first = queries[0]["MetricStat"]
            watched = {"Statistic": first["Stat"], "Period": first["Period"]}
            resource["Properties"].update(first["Metric"] | watched)


def _reject_unknown(parameters: Mapping[str, str], document: Mapping[str, Any]) -> None:
    """Reject unknown parameters, like AWS and unlike the emulator."""
    unknown = parameters.keys() - document.get("Parameters", {}).keys()
    if unknown:
        raise ToolError(f"The template has no parameter {', '.join(sorted(unknown))}.")


def _upload(clients: Clients, artifact: Path) -> None:
    s3 = clients.client("s3")
    s3.create_bucket(
        Bucket=_BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION}
    )
    s3.put_object(Bucket=_BUCKET, Key=_KEY, Body=artifact.read_bytes())


def create_stack(
    cloudformation: Any,
    name: str,
    body: str,
    parameters: Mapping[str, str],
) -> dict[str, str]:
    """Create a stack, wait until all of it is there, and return its outputs.

    Raises:
        ToolError: The template is rejected, or fails to create a resource.
    """
    try:
        cloudformation.create_stack(
            StackName=name,
            TemplateBody=body,
            Parameters=[
                {"ParameterKey": key, "ParameterValue": value}
                for key, value in parameters.items()
            ],
            Capabilities=["CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
    except ClientError as error:
        reason = error.response["Error"]["Message"]
        raise ToolError(f"The template is refused: {reason}") from error
    try:
        cloudformation.get_waiter("stack_create_complete").wait(
            StackName=name, WaiterConfig=_WAIT
        )
    except WaiterError as error:
        raise ToolError(_first_failure(cloudformation, name)) from error
    [stack] = cloudformation.describe_stacks(StackName=name)["Stacks"]
    return outputs_of(stack)


def _first_failure(cloudformation: Any, name: str) -> str:
    """Return the resource that failed first, which makes the later ones fail."""
    events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
    # The newest comes first.
    for event in reversed(events):
        if event["ResourceStatus"].endswith("_FAILED"):
            return (
                f"{event['LogicalResourceId']} ({event['ResourceType']}) failed: "
                f"{event.get('ResourceStatusReason', 'no reason given')}"
            )
    return "The deployment failed, and no resource says why."


def repair_concurrency(function_api: Any) -> None:
    """Replace the text of a parameter by a number in the emulator's mappings.

    CloudFormation passes parameters as text, which AWS converts to a number; the
    emulator's polling stops at the first comparison.
    """
    for mapping in function_api.list_event_source_mappings()["EventSourceMappings"]:
        if scaling := mapping.get("ScalingConfig"):
            function_api.update_event_source_mapping(
                UUID=mapping["UUID"], ScalingConfig=scaling
            )


def _repair_fifo_topics(sns: Any) -> None:
    """Repair FIFO topics: the emulator's CloudFormation sets only their names."""
    for topic in sns.list_topics()["Topics"]:
        if is_fifo(topic["TopicArn"]):
            sns.set_topic_attributes(
                TopicArn=topic["TopicArn"],
                AttributeName="FifoTopic",
                AttributeValue="true",
            )
