"""Voids or erases a ticket: it keeps its number and its key, and says why."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from botocore.exceptions import ClientError
from pydantic import ValidationError

from ticket_numbering.contract.dynamodb_items import (
    CHAIN,
    COMMITMENT,
    ERASED,
    REASONS,
    RESERVED,
    SEED_ATTRIBUTES,
    STATUS,
    TICKET_ATTRIBUTES,
    TIMES,
    VOIDED,
)
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.field_types import Priority
from ticket_numbering.contract.messages import RequestKey
from ticketctl.aws.aws_errors import error_code
from ticketctl.aws.items import Ticket, serialized, ticket, timestamp
from ticketctl.aws.queues import FIFO_SUFFIX
from ticketctl.aws.stack import System, event_source
from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.cli.output import visible
from ticketctl.sequences.ticket_events import MAX_REASON, TicketErased, TicketVoided

ERASED_TITLE: Final = "erased"

KEPT: Final = frozenset(
    {
        *TICKET_ATTRIBUTES,
        *SEED_ATTRIBUTES,
        *("title", "priority", CHAIN, COMMITMENT),
        *(TIMES[VOIDED], REASONS[VOIDED], TIMES[ERASED], REASONS[ERASED]),
    }
)
"""The attributes that an erased ticket keeps; all others go, known or not."""


@dataclass(frozen=True)
class Mark:
    """A mark that a ticket keeps for ever."""

    verb: str
    status: str
    event: type[TicketVoided | TicketErased]
    replaces: Sequence[str] = ()
    """The statuses that it replaces, besides none."""
    title: str | None = None
    """The new title; None to keep the title."""
    keeps: Collection[str] | None = None
    """The attributes to keep; None for all."""

    def removed_from(self, found: Ticket) -> list[str]:
        """Return the attributes to remove from a ticket."""
        return [] if self.keeps is None else sorted(found.fields.keys() - self.keeps)


VOID: Final = Mark("void", VOIDED, TicketVoided)
ERASE: Final = Mark(
    "erase",
    ERASED,
    TicketErased,
    replaces=(VOIDED,),
    title=ERASED_TITLE,
    keeps=KEPT,
)


@dataclass(frozen=True)
class Marked:
    """A marked ticket."""

    ticket: Ticket
    was_already: bool
    """Whether it was marked earlier: its announcement may be a repeat."""


def checked_reason(reason: str) -> str:
    """Return a reason that can be recorded and announced.

    Raises:
        InputError: It is not one line of visible text.
    """
    if reason.strip() and reason.isprintable() and len(reason) <= MAX_REASON:
        return reason
    raise InputError(f"--reason: give one line of 1 to {MAX_REASON} visible characters")


def check_markable(stack: System, found: Ticket, mark: Mark, reason: str) -> None:
    """Check that a ticket can be marked, or was for this very reason.

    Call before marking: a marked ticket must be announceable.

    Raises:
        InputError: It cannot.
        NotThereError: It is no ticket as the system writes it.
        CloudError: The stack is of an earlier release.
    """
    if found.status == RESERVED:
        raise InputError(
            f"{found.ticket_key} is only reserved: it stands for a number that was "
            f"used elsewhere, and there is no ticket to {mark.verb}"
        )
    if found.status == ERASED and mark.status != ERASED:
        raise InputError(
            f"{found.ticket_key} is erased; an erased ticket cannot be voided"
        )
    marked = found
    if found.status in {None, *mark.replaces}:
        marked = replace(found, fields={**found.fields, **_marks(mark, reason)})
    if marked.status != mark.status or not _is_announceable(stack, marked, mark):
        raise NotThereError(
            f"{found.ticket_key} is malformed and could not be announced; "
            f"see: ticketctl show {found.ticket_key}"
        )
    recorded = marked.fields[REASONS[mark.status]]
    if recorded != reason:
        raise InputError(
            f"{found.ticket_key} was {mark.status} at "
            f"{marked.fields[TIMES[mark.status]]} for another reason: "
            f"{visible(recorded)}"
        )


def _marks(mark: Mark, reason: str) -> dict[str, str]:
    """Return the attributes that a mark sets."""
    marks = {
        STATUS: mark.status,
        REASONS[mark.status]: reason,
        TIMES[mark.status]: timestamp(),
    }
    return marks | ({"title": mark.title} if mark.title else {})


def _is_announceable(stack: System, marked: Ticket, mark: Mark) -> bool:
    try:
        mark.event.of(marked, event_source(stack))
    except ValidationError:
        return False
    return _priority(marked) in get_args(Priority)


def _priority(found: Ticket) -> Any:
    return found.fields.get("priority", "medium")


def mark_ticket(stack: System, found: Ticket, mark: Mark, reason: str) -> Marked:
    """Mark a ticket that was found, unless it is marked for this reason.

    A ticket that an earlier release erased loses what that release has kept.

    Raises:
        InputError: It is reserved, or marked for another reason.
        NotThereError: There is no such ticket any more, or it is malformed.
    """
    check_markable(stack, found, mark, reason)
    was_already = found.status == mark.status
    if was_already and not mark.removed_from(found):
        return Marked(found, was_already)
    try:
        answer = stack.client("dynamodb").update_item(
            TableName=stack.outputs["TicketsTableName"],
            Key=serialized({"project_id": found.project_id, "number": found.number}),
            **_update(found, mark, reason),
            ReturnValues="ALL_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except ClientError as error:
        if error_code(error) != "ConditionalCheckFailedException":
            raise
        response: dict[str, Any] = {**error.response}
        if "Item" not in response:
            raise NotThereError(f"there is no ticket {found.ticket_key}") from error
        return mark_ticket(stack, ticket(response["Item"]), mark, reason)
    return Marked(ticket(answer["Attributes"]), was_already)


def _update(found: Ticket, mark: Mark, reason: str) -> dict[str, Any]:
    """Return the expressions that mark a ticket, if its status is as it was found."""
    marks = {} if found.status == mark.status else _marks(mark, reason)
    # Numbered: an attribute that others wrote may have any name.
    removed = {f"#{place}": name for place, name in enumerate(mark.removed_from(found))}
    names = {"#status": STATUS} | {f"#{name}": name for name in marks} | removed
    values = {f":{name}": text for name, text in marks.items()}
    condition = "attribute_exists(project_id) AND attribute_not_exists(#status)"
    if STATUS in found.fields:
        condition = "#status = :found"
        values[":found"] = found.fields[STATUS]
    clauses = {"SET": [f"#{name} = :{name}" for name in marks], "REMOVE": [*removed]}
    return {
        "UpdateExpression": " ".join(
            f"{verb} {', '.join(parts)}" for verb, parts in clauses.items() if parts
        ),
        "ConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": serialized(values),
    }


def announce(stack: System, marked: Marked, mark: Mark) -> None:
    """Publish that a ticket is marked, as the worker publishes; or publish it again."""
    event = mark.event.of(marked.ticket, event_source(stack))
    key = RequestKey(event.data.project_id, event.data.idempotency_key)
    envelope = Envelope.of_ticket(
        event,
        key,
        priority=_priority(marked.ticket),
        replayed=marked.was_already,
    )
    topic_arn = stack.outputs["AssignmentsTopicArn"]
    entry = envelope.entry(fifo=topic_arn.endswith(FIFO_SUFFIX))
    stack.client("sns").publish(TopicArn=topic_arn, **entry)
