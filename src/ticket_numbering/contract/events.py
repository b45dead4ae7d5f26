"""The events on the topic: a number is assigned, or a message is refused."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from ticket_numbering.contract.field_types import (
    Chain,
    EventSource,
    IdempotencyKey,
    ProjectId,
    Timestamp,
    Title,
)
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticket_numbering.contract.reasons import Reason
from ticket_numbering.contract.values import Priority


class AssignedTicket(BaseModel):
    """A numbered ticket as subscribers see it; never its description."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    project_id: ProjectId = Field(description="The scope of the number sequence.")
    number: int = Field(ge=1, description="1, 2, 3, ... without a gap in a project.")
    ticket_key: str = Field(description="The ticket's name, such as PROJ-42.")
    display: str = Field(
        description="The ticket key for people to read, its number padded with zeros "
        "if the stack is set so: PROJ-000042. Never compare or sort by it."
    )
    idempotency_key: IdempotencyKey = Field(
        description="The producer's key of the request, to match the answer with."
    )
    title: Title = Field(description="The title as requested.")
    priority: Priority = Field(description="The priority as requested, or the default.")
    assigned_at: Timestamp = Field(
        description="When the number was assigned, in UTC; the same in every repeat."
    )
    chain: Chain | SkipJsonSchema[None] = Field(
        default=None,
        description="The ticket's hash, which covers the hash of the number before it: "
        "keep it as evidence. Absent from tickets without one.",
    )


COPIED: Final = {
    name
    for name, member in AssignedTicket.model_fields.items()
    if (field := CreateTicket.model_fields.get(name))
    and field.annotation == member.annotation
}
"""The fields of a request that its announcement copies: by name and type."""

FACT: Final = Field(
    description="The fact and its version; a breaking change gets a new one."
)
"""Describes the type of an event."""


class CloudEvent(BaseModel):
    """The fields of every event on the topic; CloudEvents 1.0, JSON event format."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    specversion: Literal["1.0"] = "1.0"
    id: str = Field(
        description="The same in every repeat; drop repeats by source and id."
    )
    source: EventSource = Field(description="The stack that the event is from.")
    type: Annotated[str, FACT]
    datacontenttype: Literal["application/json"] = "application/json"


class TicketEvent(CloudEvent):
    """The fields of every event about a ticket."""

    subject: str = Field(description="The ticket key.")
    time: Timestamp = Field(description="When the fact became one, in UTC.")


class TicketNumberAssigned(TicketEvent):
    """A CloudEvents 1.0 event: a ticket has its number.

    Delivered at least once; repeats carry the same `id`, which is the ticket key.
    """

    type: Annotated[Literal["ticket-numbering.TicketNumberAssigned.v1"], FACT] = (
        "ticket-numbering.TicketNumberAssigned.v1"
    )
    traceparent: str | SkipJsonSchema[None] = Field(
        default=None,
        description="The request's message attribute of that name, if it has one: "
        "W3C Trace Context, a CloudEvents extension.",
    )
    tracestate: str | SkipJsonSchema[None] = Field(
        default=None, description="Likewise."
    )
    data: AssignedTicket

    @classmethod
    def of(
        cls,
        request: CreateTicket,
        assignment: Assignment,
        *,
        source: str,
        padding: int = 0,
        trace: Mapping[str, str] | None = None,
    ) -> "TicketNumberAssigned":
        """Build the event; a replay builds one of the same id and content.

        The trace is `traceparent` and `tracestate` of the request's message.
        """
        number, assigned_at = assignment.number, assignment.assigned_at
        key = ticket_key(request.project_id, number)
        data = AssignedTicket(
            **request.model_dump(include=COPIED),
            number=number,
            ticket_key=key,
            display=f"{request.project_id}-{number:0{padding}}",
            assigned_at=assigned_at,
            chain=assignment.chain,
        )
        parts = {"id": key, "subject": key, "time": assigned_at, **(trace or {})}
        return cls(source=source, data=data, **parts)


class RefusedRequest(BaseModel):
    """A refused request, without the producer's texts."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    project_id: ProjectId = Field(description="The scope of the number sequence.")
    idempotency_key: IdempotencyKey = Field(description="The producer's key.")
    error_type: str = Field(
        description="The error: SequenceFullError, InvalidMessageError, "
        "IdempotencyMismatchError or TicketTooLargeError. More may come."
    )
    field: str = Field(description="The field with the fault, or `body`.")
    reason: str | SkipJsonSchema[None] = Field(
        default=None,
        description=f"The reason as a code: {', '.join(map('`{}`'.format, Reason))}. "
        "More may come. Absent from events of older workers.",
    )
    message_id: str = Field(
        description="The id that SendMessage answered with; a refusal is about this "
        "message, and never about the key."
    )
    sent_at: Timestamp | SkipJsonSchema[None] = Field(
        default=None, description="When the message was sent, in UTC, if known."
    )


class TicketRefused(CloudEvent):
    """A CloudEvents 1.0 event: a request gets no number as it is.

    Delivered at least once; repeats carry the same `id`. A number of the same key ends
    the matter, whether it comes before or after.
    """

    type: Annotated[Literal["ticket-numbering.TicketRefused.v1"], FACT] = (
        "ticket-numbering.TicketRefused.v1"
    )
    subject: str = Field(description="The project.")
    data: RefusedRequest

    @classmethod
    def of(cls, refused: RefusedRequest, *, source: str) -> "TicketRefused":
        """Build the event; its content is a function of its id.

        Another delivery of the message can have another reason: that is another event.
        """
        reason = f"{refused.message_id}/{refused.error_type}/{refused.field}"
        return cls(
            source=source,
            id=f"refused/{reason}",
            subject=refused.project_id,
            data=refused,
        )


def ticket_key(project_id: str, number: int) -> str:
    """Return the display form of a number, such as `PROJ-42`."""
    return f"{project_id}-{number}"
