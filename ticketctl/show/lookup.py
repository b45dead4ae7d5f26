"""Looks up tickets: one by its ticket key, a project's latest, one by its request.

Every read is consistent, so a ticket that was announced is there.
"""

from itertools import islice
from shlex import quote

from ticket_numbering.contract.dynamodb_items import record_id
from ticket_numbering.contract.messages import RequestKey
from ticketctl.aws.items import key_record
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.tickets import get_ticket, tickets_below
from ticketctl.cli.errors import NotThereError
from ticketctl.ledger import HIGHEST
from ticketctl.ledger.item import Item
from ticketctl.ledger.record import KeyRecord, MalformedRecord


def latest_tickets(
    stack: StackAccess, project_id: str, limit: int, before: int | None
) -> list[Item]:
    """Return a project's latest tickets, newest first, and one more than the limit."""
    tickets = tickets_below(stack, project_id, before or HIGHEST + 1, page=limit + 1)
    return [*islice(tickets, limit + 1)]


def find_request(stack: StackAccess, key: RequestKey) -> tuple[KeyRecord, Item]:
    """Return the record of a request, and its ticket.

    Raises:
        NotThereError: There is no valid record; or the ticket is gone, or has another
            key.
    """
    answer = stack.client("dynamodb").get_item(
        TableName=stack.outputs["IdempotencyKeysTableName"],
        Key=record_id(key),
        ConsistentRead=True,
    )
    if "Item" not in answer:
        raise NotThereError(
            f"{key.project_id} has no ticket of the key {key.idempotency_key}: it may "
            "still be on the queue, or be a dead letter; see: "
            f"{stack.program} dead-letters list --project {key.project_id} "
            f"--key {quote(key.idempotency_key)}"
        )
    record = key_record(answer["Item"])
    if isinstance(record, MalformedRecord):
        raise NotThereError(f"{record}; see: {stack.program} audit")
    ticket = get_ticket(stack, record.project_id, record.number)
    if ticket and ticket.idempotency_key == record.idempotency_key:
        return record, ticket
    why = "which has another key" if ticket else "but there is no such ticket"
    raise NotThereError(
        f"the key is recorded for {record.project_id}-{record.number}, {why}; "
        f"see: {stack.program} audit"
    )
