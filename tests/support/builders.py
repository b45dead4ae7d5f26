"""Builders of requests, records and events; every argument has a sensible default."""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any, Final

from ticket_numbering.allocation.block import Block
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.events import TicketNumberAssigned
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticket_numbering.worker.sqs_record import SQSRecord

SOURCE: Final = "/ticket-numbering/test"
CALLER: Final = "arn:aws:sts::123456789012:assumed-role/operators/ann"
SALT: Final = "AAECAwQFBgcICQoLDA0ODw"
ASSIGNED_AT: Final = "2026-11-21T06:00:00.000Z"

_serial = count(1)


def ticket_fields(
    project_id: str = "PROJ", idempotency_key: str | None = None, **fields: Any
) -> dict[str, Any]:
    """Return a create-ticket message as a dict, with a key that nothing else has."""
    key = idempotency_key or f"request-{next(_serial)}"
    return {
        "project_id": project_id,
        "idempotency_key": key,
        "title": f"Ticket {key}",
    } | fields


def create_ticket(
    project_id: str = "PROJ", idempotency_key: str | None = None, **fields: Any
) -> CreateTicket:
    """Return a valid request."""
    return CreateTicket.parse(
        json.dumps(ticket_fields(project_id, idempotency_key, **fields))
    )


def create_tickets(count_of: int, project_id: str = "PROJ") -> list[CreateTicket]:
    """Return requests of one project, with keys of their own."""
    return [create_ticket(project_id) for _ in range(count_of)]


def sqs_record(
    body: str | dict[str, Any] | CreateTicket | None = None, **overrides: Any
) -> dict[str, Any]:
    """Return a record of a Lambda SQS event.

    `receive_count`, `sent_at` and `group_id` set the attributes of those names;
    other overrides replace members of the record.
    """
    if body is None:
        body = ticket_fields()
    if isinstance(body, CreateTicket):
        body = body.model_dump(mode="json", exclude_defaults=True)
    number = next(_serial)
    attributes = {
        "ApproximateReceiveCount": str(overrides.pop("receive_count", 1)),
        "SentTimestamp": str(overrides.pop("sent_at", 1_795_000_000_000 + number)),
        "SenderId": "AIDAIENQZJOLO23YVJ4VO",
        "ApproximateFirstReceiveTimestamp": str(1_795_000_001_000 + number),
    }
    if group := overrides.pop("group_id", None):
        attributes["MessageGroupId"] = group
    if sequence := overrides.pop("sequence_number", None):
        attributes["SequenceNumber"] = sequence
    return {
        "messageId": f"00000000-0000-4000-8000-{number:012}",
        "receiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a",
        "body": body if isinstance(body, str) else json.dumps(body),
        "attributes": attributes,
        "messageAttributes": {},
        "md5OfBody": "7b270e59b47ff90a553787216d55d91d",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:create-ticket",
        "awsRegion": "eu-west-1",
    } | overrides


def sqs_event(*records: dict[str, Any]) -> dict[str, Any]:
    """Return a Lambda SQS event."""
    return {"Records": list(records)}


def queue_record(
    body: str | dict[str, Any] | CreateTicket | None = None, **overrides: Any
) -> SQSRecord:
    """Return a record as the worker takes it."""
    return SQSRecord.of(sqs_record(body, **overrides))


def fifo_record(
    body: str | dict[str, Any] | CreateTicket | None = None,
    group_id: str = "PROJ",
    **overrides: Any,
) -> SQSRecord:
    """Return a record of a FIFO queue."""
    return queue_record(body, group_id=group_id, sequence_number="1", **overrides)


def plenty() -> float:
    """Return the seconds left of an invocation that has just begun."""
    return 30.0


def block_of(
    requests: Sequence[CreateTicket],
    first_number: int = 1,
    assigned_at: str = ASSIGNED_AT,
    previous: str = "",
) -> Block:
    """Return a block of requests of one project."""
    head = Head(first_number - 1, chain=previous)
    return Block.of(head, requests, assigned_at, lambda: SALT)


def assigned_event(
    request: CreateTicket | None = None,
    number: int = 1,
    assigned_at: str = ASSIGNED_AT,
    padding: int = 0,
) -> TicketNumberAssigned:
    """Return the event that a request has its number."""
    request = request or create_ticket()
    assignment = Assignment(number, request.fingerprint, assigned_at)
    return TicketNumberAssigned.of(request, assignment, source=SOURCE, padding=padding)


def announcement(
    request: CreateTicket | None = None, number: int = 1, *, replayed: bool = False
) -> Envelope:
    """Return the announcement that a request has its number."""
    request = request or create_ticket()
    event = assigned_event(request, number)
    return Envelope.of_ticket(
        event, request.key, priority=request.priority, replayed=replayed
    )
