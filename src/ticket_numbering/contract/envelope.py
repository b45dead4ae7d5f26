"""The envelope of an event: its message group and message attributes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from ticket_numbering.contract.attributes import text_attribute
from ticket_numbering.contract.events import CloudEvent, TicketEvent, TicketRefused
from ticket_numbering.contract.messages import RequestKey


@dataclass(frozen=True, slots=True)
class Envelope:
    """An event with the parameters that SNS takes."""

    event: CloudEvent
    group: str
    """The message group: a FIFO topic's order, or a fair queue's tenant."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """The message attributes, for filter policies and tracing."""
    replayed: bool = False
    """Whether it may have been published before, and must be delivered again."""

    @classmethod
    def of_ticket(
        cls,
        event: TicketEvent,
        key: RequestKey,
        *,
        priority: str,
        replayed: bool,
        trace: Mapping[str, str] | None = None,
    ) -> "Envelope":
        """Return the envelope of an event about the ticket of a request."""
        attributes = {
            "event_type": event.type,
            "project_id": key.project_id,
            "priority": priority,
            "idempotency_key": key.idempotency_key,
            "replayed": str(replayed).lower(),
        }
        return cls(event, key.project_id, attributes | {**(trace or {})}, replayed)

    @classmethod
    def of_refusal(cls, event: TicketRefused) -> "Envelope":
        """Return the envelope of a refusal; its group never blocks a number."""
        attributes = {
            "event_type": event.type,
            "project_id": event.data.project_id,
            "idempotency_key": event.data.idempotency_key,
            "error_type": event.data.error_type,
        }
        return cls(event, f"refused/{event.data.project_id}", attributes)

    @property
    def message(self) -> str:
        """The event as JSON."""
        return self.event.model_dump_json(exclude_none=True)

    def entry(self, *, fifo: bool) -> dict[str, Any]:
        """Return the parameters of Publish, or of an entry of PublishBatch."""
        entry: dict[str, Any] = {
            "Message": self.message,
            "MessageAttributes": {
                name: text_attribute(text) for name, text in self.attributes.items()
            },
            # SNS passes it on: standard queues that subscribe become fair queues.
            "MessageGroupId": self.group,
        }
        if fifo:
            # SNS drops an id of the last 5 minutes: a retry of botocore, but no
            # replay, because the requester may have missed the first event.
            suffix = f"/{uuid4()}" if self.replayed else ""
            entry["MessageDeduplicationId"] = self.event.id + suffix
        return entry
