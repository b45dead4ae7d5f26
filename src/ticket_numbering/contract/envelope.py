"""The envelope of an event: message attributes, group, deduplication id."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from ticket_numbering.contract.messages import CloudEvent, RequestKey


@dataclass(frozen=True, slots=True)
class Envelope:
    """An event about a ticket, with its message attributes and its message group."""

    event: CloudEvent
    key: RequestKey
    """The request that the ticket was numbered for."""
    priority: str
    replayed: bool
    """Whether it may have been published before."""

    @property
    def attributes(self) -> dict[str, dict[str, str]]:
        """The message attributes, for filter policies."""
        values = {
            "event_type": self.event.type,
            "project_id": self.key.project_id,
            "priority": self.priority,
            "idempotency_key": self.key.idempotency_key,
            "replayed": str(self.replayed).lower(),
        }
        return {name: text_attribute(value) for name, value in values.items()}

    def entry(self, *, fifo: bool) -> dict[str, Any]:
        """Return the parameters of Publish, or of an entry of PublishBatch."""
        entry: dict[str, Any] = {
            "Message": self.event.model_dump_json(exclude_none=True),
            "MessageAttributes": self.attributes,
            # SNS passes it on: standard queues that subscribe become fair queues.
            "MessageGroupId": self.key.project_id,
        }
        if fifo:
            entry["MessageDeduplicationId"] = self._deduplication_id()
        return entry

    def _deduplication_id(self) -> str:
        """Let a FIFO topic drop botocore's second sending, and no replay.

        It drops an id that it saw in the last 5 minutes, while a replay must arrive:
        the requester may have missed the first.
        """
        return f"{self.event.id}/{uuid4()}" if self.replayed else self.event.id


def text_attribute(value: str) -> dict[str, str]:
    """Return a message attribute that holds text, as SNS and SQS take it."""
    return {"DataType": "String", "StringValue": value}
