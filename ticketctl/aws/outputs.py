"""What a stack tells of itself: by CloudFormation, or by the variables of a shell."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic.alias_generators import to_pascal, to_snake

from ticket_numbering.contract.limits import Limits
from ticketctl.cli.errors import CloudError

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
"""The limits, and others that a stack of an earlier release does not have."""

PARAMETERS: Final = ("IdempotencyRetentionDays", "NumberPadding")
"""The parameters that commands read."""


def outputs_of(description: Mapping[str, Any]) -> dict[str, str]:
    """Return the outputs of a stack that CloudFormation describes."""
    outputs = description.get("Outputs", [])
    return {output["OutputKey"]: output["OutputValue"] for output in outputs}


def variable_of(output: str) -> str:
    """Return the variable of an output: `TICKETS_TABLE_NAME` of `TicketsTableName`."""
    return to_snake(output).upper()


def from_variables(
    shell: Mapping[str, str], stack_name: str, region: str
) -> dict[str, str]:
    """Return the outputs and parameters that `ticketctl env` gave to a shell.

    Its variables of the stack's name and Region do not count: they also choose the
    stack, so they may have been set since, and the outputs are still another's.

    Raises:
        CloudError: One is missing, or they are another stack's.
    """
    needed = (*NEEDED_OUTPUTS, *PARAMETERS)
    names = {name: variable_of(name) for name in (*needed, *LATER_OUTPUTS)}
    values = {
        name: shell[variable] for name, variable in names.items() if shell.get(variable)
    }
    if missing := [names[name] for name in needed if name not in values]:
        raise CloudError(f"there is no {missing[0]}")
    for name in PARAMETERS:
        if not values[name].isdecimal():
            raise CloudError(f"{names[name]} is no number: {values[name]}")
    own_name = values["EventSource"].rpartition("/")[2]
    [own_region] = values["AssignmentsTopicArn"].split(":")[3:4] or ["nowhere"]
    if (own_name, own_region) != (stack_name, region):
        raise CloudError(
            f"they are of {own_name} in {own_region}, not {stack_name} in {region}"
        )
    return values
