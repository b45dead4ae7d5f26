"""The events on the topic: a ticket is void, or has lost its text."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from ticket_numbering.contract.dynamodb_items import (
    ERASED,
    NUMBER,
    REASONS,
    TIMES,
    VOIDED,
)
from ticket_numbering.contract.events import FACT, TicketEvent, ticket_key
from ticket_numbering.contract.field_types import IdempotencyKey, ProjectId, Timestamp

MAX_REASON: Final = 500
"""This project's own limit: the ticket and every subscriber keep the reason."""


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
    def of(cls, item: Mapping[str, Any], *, source: str) -> Self:
        """Build the event of a ticket's item; a repeat builds an equal event.

        Raises:
            ValidationError: The item lacks a field of the event.
        """
        at = TIMES[cls.status]
        project_id, number = item["project_id"], int(item[NUMBER])
        key = ticket_key(project_id, number)
        data = {
            "project_id": project_id,
            "number": number,
            "ticket_key": key,
            "idempotency_key": item.get("idempotency_key"),
            "reason": item.get(REASONS[cls.status]),
            at: item.get(at),
        }
        return cls.model_validate(
            {
                "source": source,
                "id": f"{key}/{cls.status}",
                "subject": key,
                "time": data[at],
                "data": data,
            }
        )


class TicketVoided(TicketMarked):
    """A CloudEvents 1.0 event: a ticket is void, and keeps its number.

    Delivered at least once; repeats carry the same `id`: the ticket key and `/voided`.
    """

    status = VOIDED
    type: Annotated[Literal["ticket-numbering.TicketVoided.v1"], FACT] = (
        "ticket-numbering.TicketVoided.v1"
    )
    data: VoidedTicket


class TicketErased(TicketMarked):
    """A CloudEvents 1.0 event: a ticket has lost its text, and keeps its number.

    Delivered at least once; repeats carry the same `id`: the ticket key and `/erased`.
    """

    status = ERASED
    type: Annotated[Literal["ticket-numbering.TicketErased.v1"], FACT] = (
        "ticket-numbering.TicketErased.v1"
    )
    data: ErasedTicket
