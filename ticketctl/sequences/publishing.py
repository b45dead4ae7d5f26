"""Publishes to the assignments topic as the worker does."""

from typing import Any
from uuid import uuid4

from ticketctl.sequences.ticket_voided import TicketVoided
from ticketctl.sequences.voiding import Voided
from ticketctl.system.queues import FIFO_SUFFIX
from ticketctl.system.stack import System


def announce(stack: System, voided: Voided) -> None:
    """Announce that a ticket is voided; once more, if it was announced before."""
    event = TicketVoided.of(voided.ticket)
    topic_arn = stack.outputs["AssignmentsTopicArn"]
    attributes = {
        "event_type": event.type,
        "project_id": event.data.project_id,
        "priority": voided.ticket.fields.get("priority", "medium"),
        "replayed": str(voided.was_already).lower(),
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
        # A repeat is to be heard, also within the 5 minutes that SNS remembers ids.
        repeat = f"/{uuid4()}" if voided.was_already else ""
        request["MessageDeduplicationId"] = event.id + repeat
    stack.client("sns").publish(**request)
