"""The event that a ticket should not have been; its number stays with it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ticket_numbering.field_types import IdempotencyKey, ProjectId, Timestamp
from ticket_numbering.messages import CloudEvent
from ticketctl.system.items import Ticket

MAX_REASON = 500


class VoidedTicket(BaseModel):
    """What subscribers learn of a voided ticket."""

    model_config = ConfigDict(frozen=True)

    project_id: ProjectId = Field(description="The scope of the number sequence.")
    number: int = Field(ge=1, description="The ticket's number, which it keeps.")
    ticket_key: str = Field(description="The number's display form, such as PROJ-42.")
    idempotency_key: IdempotencyKey = Field(
        description="The producer's key of the request."
    )
    reason: str = Field(
        min_length=1, max_length=MAX_REASON, description="Why, on one line."
    )
    voided_at: Timestamp = Field(
        description="When it was voided, in UTC; the same in every repeat."
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
        voided_at = ticket.fields.get("voided_at")
        data = VoidedTicket(
            project_id=ticket.project_id,
            number=ticket.number,
            ticket_key=ticket.ticket_key,
            idempotency_key=ticket.fields.get("idempotency_key"),
            reason=ticket.fields.get("voided_reason"),
            voided_at=voided_at,
        )
        key = ticket.ticket_key
        return cls(id=f"{key}/voided", subject=key, time=voided_at, data=data)
