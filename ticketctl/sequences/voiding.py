"""Voids a ticket: it keeps its number, says why it should not have been, and stays."""

from dataclasses import dataclass, replace
from typing import Any, get_args
from uuid import uuid4

from botocore.exceptions import ClientError
from pydantic import ValidationError

from ticket_numbering.field_types import Priority
from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.cli.output import visible
from ticketctl.sequences.ticket_voided import MAX_REASON, TicketVoided
from ticketctl.system.aws_errors import error_code
from ticketctl.system.items import (
    RESERVED,
    VOIDED,
    Ticket,
    serialized,
    ticket,
    timestamp,
)
from ticketctl.system.queues import FIFO_SUFFIX
from ticketctl.system.stack import System


@dataclass(frozen=True)
class Voided:
    """A ticket that is voided."""

    ticket: Ticket
    was_already: bool
    """Voided earlier, so that its announcement may be a repeat."""


def checked_reason(reason: str) -> str:
    """Return a reason that can be recorded and announced.

    Raises:
        InputError: It is not one line of visible text.
    """
    if reason.strip() and reason.isprintable() and len(reason) <= MAX_REASON:
        return reason
    raise InputError(f"--reason: give one line of 1 to {MAX_REASON} visible characters")


def check_voidable(found: Ticket, reason: str) -> None:
    """Check that a ticket can be voided, or was for this very reason.

    To be called before it is voided: what is voided is to be announced.

    Raises:
        InputError: It cannot.
        NotThereError: It is no ticket as the system writes it.
    """
    if found.status == RESERVED:
        raise InputError(
            f"{found.ticket_key} is only reserved: it stands for a number that was "
            "used elsewhere, and there is no ticket to void"
        )
    voided = found
    if "status" not in found.fields:
        marks = {"status": VOIDED, "voided_reason": reason, "voided_at": timestamp()}
        voided = replace(found, fields={**found.fields, **marks})
    if not _is_announceable(voided):
        raise NotThereError(
            f"{found.ticket_key} is malformed and could not be announced; "
            f"see: ticketctl show {found.ticket_key}"
        )
    recorded = voided.fields["voided_reason"]
    if recorded != reason:
        raise InputError(
            f"{found.ticket_key} was voided at {voided.fields['voided_at']} for "
            f"another reason: {visible(recorded)}"
        )


def _is_announceable(voided: Ticket) -> bool:
    try:
        TicketVoided.of(voided)
    except ValidationError:
        return False
    return voided.status == VOIDED and _priority(voided) in get_args(Priority)


def _priority(found: Ticket) -> Any:
    return found.fields.get("priority", "medium")


def void(stack: System, project_id: str, number: int, reason: str) -> Voided:
    """Void a ticket that can be voided, unless it is voided for this reason.

    Raises:
        InputError: It is reserved, or voided for another reason.
        NotThereError: There is no such ticket, or it is malformed.
    """
    try:
        answer = stack.client("dynamodb").update_item(
            TableName=stack.outputs["TicketsTableName"],
            Key=serialized({"project_id": project_id, "number": number}),
            UpdateExpression=(
                "SET #status = :voided, voided_reason = :reason, voided_at = :now"
            ),
            ConditionExpression=(
                "attribute_exists(project_id) AND attribute_not_exists(#status)"
            ),
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues=serialized(
                {":voided": VOIDED, ":reason": reason, ":now": timestamp()}
            ),
            ReturnValues="ALL_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except ClientError as error:
        if error_code(error) != "ConditionalCheckFailedException":
            raise
        response: dict[str, Any] = {**error.response}
        if "Item" not in response:
            raise NotThereError(f"there is no ticket {project_id}-{number}") from error
        found = ticket(response["Item"])
        check_voidable(found, reason)
        return Voided(found, was_already=True)
    return Voided(ticket(answer["Attributes"]), was_already=False)


def announce(stack: System, voided: Voided) -> None:
    """Publish as the worker does that a ticket is voided; or publish it once more."""
    event = TicketVoided.of(voided.ticket)
    topic_arn = stack.outputs["AssignmentsTopicArn"]
    attributes = {
        "event_type": event.type,
        "project_id": event.data.project_id,
        "priority": _priority(voided.ticket),
        "replayed": str(voided.was_already).lower(),
    }
    request: dict[str, Any] = {
        "TopicArn": topic_arn,
        "Message": event.model_dump_json(),
        "MessageAttributes": {
            name: {"DataType": "String", "StringValue": value}
            for name, value in attributes.items()
        },
        # SNS passes it on: standard queues that subscribe become fair queues.
        "MessageGroupId": event.data.project_id,
    }
    if topic_arn.endswith(FIFO_SUFFIX):
        # A repeat is to arrive, also within the 5 minutes that SNS remembers ids.
        repeat = f"/{uuid4()}" if voided.was_already else ""
        request["MessageDeduplicationId"] = event.id + repeat
    stack.client("sns").publish(**request)
