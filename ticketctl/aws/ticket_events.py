"""The events of voided and erased tickets, and that of a number again."""

from typing import Any, ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    ERASED,
    REASONS,
    TIMES,
    VOIDED,
)
from ticket_numbering.contract.events import TicketEvent, TicketNumberAssigned
from ticket_numbering.contract.field_types import IdempotencyKey, ProjectId, Timestamp
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticketctl.aws.items import Ticket

MAX_REASON: Final = 500
"""Ours: the ticket keeps it for ever, and every subscriber gets it."""


class MarkedTicket(BaseModel):
    """A voided or erased ticket, as subscribers see it."""

    model_config = ConfigDict(frozen=True)

    project_id: ProjectId = Field(description="The scope of the number sequence.")
    number: int = Field(ge=1, description="The ticket's number, which it keeps.")
    ticket_key: str = Field(description="The ticket's name, such as PROJ-42.")
    idempotency_key: IdempotencyKey = Field(
        description="The producer's key of the request."
    )
    reason: str = Field(
        min_length=1, max_length=MAX_REASON, description="Why, on one line."
    )


class VoidedTicket(MarkedTicket):
    """A ticket that is void."""

    voided_at: Timestamp = Field(
        description="When it was voided, in UTC; the same in every repeat."
    )


class ErasedTicket(MarkedTicket):
    """A ticket without its text."""

    erased_at: Timestamp = Field(
        description="When it was erased, in UTC; the same in every repeat."
    )


class TicketMarked(TicketEvent):
    """The event of a ticket's new status."""

    status: ClassVar[str]

    @classmethod
    def of(cls, ticket: Ticket, source: str) -> Self:
        """Build the event of a ticket; a repeat builds an equal one.

        Raises:
            ValidationError: The item lacks a field of the event.
        """
        at = TIMES[cls.status]
        data = {
            "project_id": ticket.project_id,
            "number": ticket.number,
            "ticket_key": ticket.ticket_key,
            "idempotency_key": ticket.idempotency_key,
            "reason": ticket.fields.get(REASONS[cls.status]),
            at: ticket.fields.get(at),
        }
        return cls.model_validate(
            {
                "source": source,
                "id": f"{ticket.ticket_key}/{cls.status}",
                "subject": ticket.ticket_key,
                "time": data[at],
                "data": data,
            }
        )


class TicketVoided(TicketMarked):
    """A CloudEvents 1.0 event: a ticket is void, and keeps its number.

    Delivered at least once; repeats carry the same `id`: the ticket key and `/voided`.
    """

    status = VOIDED
    type: Literal["ticket-numbering.TicketVoided.v1"] = Field(
        default="ticket-numbering.TicketVoided.v1",
        description="The fact and its version; a breaking change gets a new one.",
    )
    data: VoidedTicket


class TicketErased(TicketMarked):
    """A CloudEvents 1.0 event: a ticket has lost its text, and keeps its number.

    Delivered at least once; repeats carry the same `id`: the ticket key and `/erased`.
    """

    status = ERASED
    type: Literal["ticket-numbering.TicketErased.v1"] = Field(
        default="ticket-numbering.TicketErased.v1",
        description="The fact and its version; a breaking change gets a new one.",
    )
    data: ErasedTicket


def assigned_again(ticket: Ticket, source: str, padding: int) -> TicketNumberAssigned:
    """Build the event of a ticket's number, as the worker made it.

    Raises:
        ValueError: The ticket is malformed.
    """
    names = CreateTicket.model_fields.keys() & ticket.fields.keys()
    request = CreateTicket.model_validate({name: ticket.fields[name] for name in names})
    date: Any = ticket.fields.get(ASSIGNED_AT)  # The event refuses None.
    assignment = Assignment(
        ticket.number, request.fingerprint, date, ticket.chain or None
    )
    return TicketNumberAssigned.of(request, assignment, source=source, padding=padding)
