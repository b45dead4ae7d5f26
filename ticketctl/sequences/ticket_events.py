"""The events that something happened to a ticket; its number stays with it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ticket_numbering.field_types import IdempotencyKey, ProjectId, Timestamp
from ticket_numbering.messages import CloudEvent
from ticketctl.system.items import Ticket

MAX_REASON = 500


class MarkedTicket(BaseModel):
    """What subscribers learn of a ticket to which something happened."""

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
    """A ticket that should not have been."""

    voided_at: Timestamp = Field(
        description="When it was voided, in UTC; the same in every repeat."
    )


class ErasedTicket(MarkedTicket):
    """A ticket without its text."""

    erased_at: Timestamp = Field(
        description="When it was erased, in UTC; the same in every repeat."
    )


class TicketVoided(CloudEvent):
    """A CloudEvents 1.0 event: a ticket should not have been, and keeps its number.

    Delivered at least once; repeats carry the same `id`: the ticket key and `/voided`.
    """

    type: Literal["ticket-numbering.TicketVoided.v1"] = Field(
        default="ticket-numbering.TicketVoided.v1",
        description="The fact and its version; a breaking change gets a new one.",
    )
    data: VoidedTicket

    @classmethod
    def of(cls, ticket: Ticket) -> "TicketVoided":
        """Build the event of a voided ticket; a repeat builds the very same one.

        Raises:
            ValidationError: The item lacks a field of the event.
        """
        data = VoidedTicket.model_validate(_fields(ticket, "voided"))
        return cls(
            id=f"{ticket.ticket_key}/voided",
            subject=ticket.ticket_key,
            time=data.voided_at,
            data=data,
        )


class TicketErased(CloudEvent):
    """A CloudEvents 1.0 event: a ticket has lost its text, and keeps its number.

    Delivered at least once; repeats carry the same `id`: the ticket key and `/erased`.
    """

    type: Literal["ticket-numbering.TicketErased.v1"] = Field(
        default="ticket-numbering.TicketErased.v1",
        description="The fact and its version; a breaking change gets a new one.",
    )
    data: ErasedTicket

    @classmethod
    def of(cls, ticket: Ticket) -> "TicketErased":
        """Build the event of an erased ticket; a repeat builds the very same one.

        Raises:
            ValidationError: The item lacks a field of the event.
        """
        data = ErasedTicket.model_validate(_fields(ticket, "erased"))
        return cls(
            id=f"{ticket.ticket_key}/erased",
            subject=ticket.ticket_key,
            time=data.erased_at,
            data=data,
        )


def _fields(ticket: Ticket, status: str) -> dict[str, object]:
    return {
        "project_id": ticket.project_id,
        "number": ticket.number,
        "ticket_key": ticket.ticket_key,
        "idempotency_key": ticket.idempotency_key,
        "reason": ticket.fields.get(f"{status}_reason"),
        f"{status}_at": ticket.fields.get(f"{status}_at"),
    }
