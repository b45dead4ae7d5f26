"""The outputs of a stack, and their names as variables of a shell."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic.alias_generators import to_pascal, to_snake

from ticket_numbering.contract.limits import Limits

NEEDED_OUTPUTS: Final = (
    "CreateTicketQueueUrl",
    "CreateTicketQueueArn",
    "AssignmentsTopicArn",
    "EventSource",
    "DeadLetterQueueUrl",
    "DeadLetterQueueArn",
    "TicketsTableName",
    "IdempotencyKeysTableName",
    "WorkerFunctionName",
    "WorkerLogGroupName",
)

LATER_OUTPUTS: Final = (*map(to_pascal, Limits.model_fields), "WorkerRoleName")
"""The limits, and other outputs that a stack of an earlier release lacks."""


def outputs_of(description: Mapping[str, Any]) -> dict[str, str]:
    """Return the outputs in CloudFormation's description of a stack."""
    outputs = description.get("Outputs", [])
    return {output["OutputKey"]: output["OutputValue"] for output in outputs}


def variable_of(output: str) -> str:
    """Return an output's variable: `TICKETS_TABLE_NAME` for `TicketsTableName`."""
    return to_snake(output).upper()
