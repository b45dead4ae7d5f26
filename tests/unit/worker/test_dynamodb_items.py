"""The items of the two tables, as DynamoDB takes them."""

from tests.support.builders import create_ticket
from ticket_numbering.dynamodb_items import key_id, key_item, ticket_item
from ticket_numbering.messages import CreateTicket

STAMP = "2026-11-21T05:53:00.123Z"


def everything() -> CreateTicket:
    """Return a request that leaves no field out."""
    return create_ticket(
        description="One\ntwo",
        priority="urgent",
        reporter="Jane Roe",
        labels=["a", "b"],
        attributes={"browser": "", "os": "any"},
    )


def test_ticket_item_holds_every_field_that_is_given() -> None:
    request = everything()
    fields = request.model_dump() | {"number": 42, "assigned_at": STAMP}

    assert ticket_item(request, 42, STAMP) == fields


def test_key_item_holds_when_it_expires() -> None:
    request = everything()
    expires_at = 1_797_832_380
    fields = {
        "id": key_id(request.key),
        "project_id": request.project_id,
        "idempotency_key": request.idempotency_key,
        "number": 42,
        "fingerprint": request.fingerprint,
        "assigned_at": STAMP,
        "expires_at": expires_at,
    }

    item = key_item(request, 42, STAMP, expires_at=expires_at)

    assert item == fields
