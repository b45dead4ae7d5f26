"""Voids or erases a ticket: it keeps its number and its key, and says why."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args
from uuid import uuid4

from botocore.exceptions import ClientError
from pydantic import ValidationError

from ticket_numbering.field_types import Priority
from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.cli.output import visible
from ticketctl.sequences.ticket_events import MAX_REASON, TicketErased, TicketVoided
from ticketctl.system.aws_errors import error_code
from ticketctl.system.items import (
    ERASED,
    RESERVED,
    VOIDED,
    Ticket,
    serialized,
    ticket,
    timestamp,
)
from ticketctl.system.queues import FIFO_SUFFIX
from ticketctl.system.stack import System

ERASED_TITLE: Final = "erased"


@dataclass(frozen=True)
class Mark:
    """A way to mark a ticket for ever."""

    verb: str
    status: str
    event: type[TicketVoided | TicketErased]
    replaces: Sequence[str] = ()
    """The statuses of tickets that can be marked, besides none."""
    title: str | None = None
    """What the title becomes; it stays if not given."""
    removes: Sequence[str] = ()
    """Attributes that go."""


VOID: Final = Mark("void", VOIDED, TicketVoided)
ERASE: Final = Mark(
    "erase",
    ERASED,
    TicketErased,
    replaces=(VOIDED,),
    title=ERASED_TITLE,
    removes=("description", "reporter", "labels", "attributes"),
)


@dataclass(frozen=True)
class Marked:
    """A ticket that is marked."""

    ticket: Ticket
    was_already: bool
    """Marked earlier, so that its announcement may be a repeat."""


def checked_reason(reason: str) -> str:
    """Return a reason that can be recorded and announced.

    Raises:
        InputError: It is not one line of visible text.
    """
    if reason.strip() and reason.isprintable() and len(reason) <= MAX_REASON:
        return reason
    raise InputError(f"--reason: give one line of 1 to {MAX_REASON} visible characters")


def check_markable(found: Ticket, mark: Mark, reason: str) -> None:
    """Check that a ticket can be marked, or was for this very reason.

    To be called before it is marked: what is marked is to be announced.

    Raises:
        InputError: It cannot.
        NotThereError: It is no ticket as the system writes it.
    """
    if found.status == RESERVED:
        raise InputError(
            f"{found.ticket_key} is only reserved: it stands for a number that was "
            f"used elsewhere, and there is no ticket to {mark.verb}"
        )
    if found.status == ERASED and mark.status != ERASED:
        raise InputError(f"{found.ticket_key} is erased, which is the last it can be")
    marked = found
    if found.status in {None, *mark.replaces}:
        marked = replace(found, fields={**found.fields, **_marks(mark, reason)})
    if marked.status != mark.status or not _is_announceable(marked, mark):
        raise NotThereError(
            f"{found.ticket_key} is malformed and could not be announced; "
            f"see: ticketctl show {found.ticket_key}"
        )
    recorded = marked.fields[f"{mark.status}_reason"]
    if recorded != reason:
        raise InputError(
            f"{found.ticket_key} was {mark.status} at "
            f"{marked.fields[f'{mark.status}_at']} for another reason: "
            f"{visible(recorded)}"
        )


def _marks(mark: Mark, reason: str) -> dict[str, str]:
    """Return the attributes that a mark sets."""
    marks = {
        "status": mark.status,
        f"{mark.status}_reason": reason,
        f"{mark.status}_at": timestamp(),
    }
    return marks | ({"title": mark.title} if mark.title else {})


def _is_announceable(marked: Ticket, mark: Mark) -> bool:
    try:
        mark.event.of(marked)
    except ValidationError:
        return False
    return _priority(marked) in get_args(Priority)


def _priority(found: Ticket) -> Any:
    return found.fields.get("priority", "medium")


def mark_ticket(
    stack: System, project_id: str, number: int, mark: Mark, reason: str
) -> Marked:
    """Mark a ticket that can be marked, unless it is marked for this reason.

    Raises:
        InputError: It is reserved, or marked for another reason.
        NotThereError: There is no such ticket, or it is malformed.
    """
    try:
        answer = stack.client("dynamodb").update_item(
            TableName=stack.outputs["TicketsTableName"],
            Key=serialized({"project_id": project_id, "number": number}),
            **_update(mark, reason),
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
        check_markable(found, mark, reason)
        return Marked(found, was_already=True)
    return Marked(ticket(answer["Attributes"]), was_already=False)


def _update(mark: Mark, reason: str) -> dict[str, Any]:
    """Return the expressions that mark a ticket, if its status allows it."""
    marks = _marks(mark, reason)
    values = {f":{name}": text for name, text in marks.items()}
    values |= {f":replaced_{status}": status for status in mark.replaces}
    change = "SET " + ", ".join(f"#{name} = :{name}" for name in marks)
    if mark.removes:
        change += " REMOVE " + ", ".join(f"#{name}" for name in mark.removes)
    allowed = ["attribute_not_exists(#status)"]
    allowed += [f"#status = :replaced_{status}" for status in mark.replaces]
    return {
        "UpdateExpression": change,
        "ConditionExpression": (
            f"attribute_exists(project_id) AND ({' OR '.join(allowed)})"
        ),
        "ExpressionAttributeNames": {
            f"#{name}": name for name in (*marks, *mark.removes)
        },
        "ExpressionAttributeValues": serialized(values),
    }


def announce(stack: System, marked: Marked, mark: Mark) -> None:
    """Publish as the worker does that a ticket is marked; or publish it once more."""
    event = mark.event.of(marked.ticket)
    topic_arn = stack.outputs["AssignmentsTopicArn"]
    attributes = {
        "event_type": event.type,
        "project_id": event.data.project_id,
        "priority": _priority(marked.ticket),
        "idempotency_key": event.data.idempotency_key,
        "replayed": str(marked.was_already).lower(),
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
        repeat = f"/{uuid4()}" if marked.was_already else ""
        request["MessageDeduplicationId"] = event.id + repeat
    stack.client("sns").publish(**request)
