"""Voids a ticket: it keeps its number, says why it should not have been, and stays."""

from dataclasses import dataclass, replace

from botocore.exceptions import ClientError
from pydantic import ValidationError

from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.cli.output import visible
from ticketctl.sequences.ticket_voided import MAX_REASON, TicketVoided
from ticketctl.sequences.timestamps import timestamp
from ticketctl.system.aws_errors import error_code
from ticketctl.system.items import RESERVED, VOIDED, Ticket, ticket
from ticketctl.system.stack import System

PRIORITIES = ("low", "medium", "high", "urgent")


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
    message = f"--reason: give one line of 1 to {MAX_REASON} visible characters"
    raise InputError(message)


def check_voidable(found: Ticket, reason: str) -> None:
    """Tell whether a ticket can be voided, or was for this very reason.

    To be asked before it is voided: what is voided is to be announced.

    Raises:
        InputError: It cannot.
        NotThereError: It is no ticket as the system writes it.
    """
    if found.status == RESERVED:
        message = (
            f"{found.ticket_key} is only reserved: it stands for a number that was "
            "used elsewhere, and there is no ticket to void"
        )
        raise InputError(message)
    _check_announceable(found, reason)
    recorded = found.fields.get("voided_reason")
    if found.status == VOIDED and recorded != reason:
        message = (
            f"{found.ticket_key} was voided at {found.fields.get('voided_at')} for "
            f"another reason: {visible(str(recorded))}"
        )
        raise InputError(message)


def _check_announceable(found: Ticket, reason: str) -> None:
    if field := _malformed_field(_as_voided(found, reason)):
        message = (
            f"{found.ticket_key} is malformed ({field}) and could not be announced; "
            f"see: ticketctl show {found.ticket_key}"
        )
        raise NotThereError(message)


def _as_voided(found: Ticket, reason: str) -> Ticket:
    """Return the ticket as it will be; as it is, where a status keeps it from that."""
    if "status" in found.fields:
        return found
    marks = {"status": VOIDED, "voided_reason": reason, "voided_at": timestamp()}
    return replace(found, fields={**found.fields, **marks})


def _malformed_field(voided: Ticket) -> str | None:
    """Return the first field that keeps a ticket from being announced."""
    if voided.status != VOIDED:
        return "status"
    if voided.fields.get("priority", "medium") not in PRIORITIES:
        return "priority"
    try:
        TicketVoided.of(voided)
    except ValidationError as error:
        return str(error.errors()[0]["loc"][-1])
    return None


def void(stack: System, project_id: str, number: int, reason: str) -> Voided:
    """Void a ticket that can be voided, unless it is voided for this reason.

    Raises:
        InputError: It is reserved, or voided for another reason.
        NotThereError: There is no such ticket, or it is malformed.
    """
    try:
        answer = stack.client("dynamodb").update_item(
            TableName=stack.outputs["TicketsTableName"],
            Key={"project_id": {"S": project_id}, "number": {"N": str(number)}},
            UpdateExpression=(
                "SET #status = :voided, voided_reason = :reason, voided_at = :now"
            ),
            ConditionExpression=(
                "attribute_exists(project_id) AND attribute_not_exists(#status)"
            ),
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={
                ":voided": {"S": VOIDED},
                ":reason": {"S": reason},
                ":now": {"S": timestamp()},
            },
            ReturnValues="ALL_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except ClientError as error:
        if error_code(error) != "ConditionalCheckFailedException":
            raise
        return _as_it_is(error, f"{project_id}-{number}", reason)
    return Voided(ticket(answer["Attributes"]), was_already=False)


def _as_it_is(error: ClientError, ticket_key: str, reason: str) -> Voided:
    response: dict[str, object] = {**error.response}
    item = response.get("Item")
    if not isinstance(item, dict):
        message = f"there is no ticket {ticket_key}"
        raise NotThereError(message) from error
    found = ticket(item)
    check_voidable(found, reason)
    return Voided(found, was_already=True)
