"""The messages of the AsyncAPI document, with their message attributes as headers."""

from collections.abc import Mapping
from typing import Any, Final

from ticket_numbering import errors
from ticket_numbering.sqs_dead_letters import MAX_ATTRIBUTES, MAX_REASON_CHARACTERS

Json = dict[str, Any]

_CREATE_TICKET: Final = (
    "One (`project_id`, `idempotency_key`) has one ticket and one number for ever: "
    "send the message again whenever you do not know whether it arrived.\n"
    "The same key with a different request is refused.\n"
    "Send `project_id` as the `MessageGroupId`, so that a busy project does not delay "
    "the others.\n"
    "Message attributes are not needed."
)

_ASSIGNED: Final = (
    "Delivered at least once, in any order.\n"
    "A repeat is the same event under the same `id`, so drop repeats by `id`.\n"
    "Filter by the message attributes below.\n"
    "Without raw message delivery the event is text in the member `Message` of what "
    "SNS delivers."
)

_VOIDED: Final = (
    "A ticket should not have been; its number stays with it and is never given "
    "again.\n"
    "Delivered at least once; a repeat is the same event under the same `id`, so drop "
    "repeats by `id`.\n"
    "Who wants assigned numbers alone filters by the message attribute `event_type`."
)

_POISON: Final = (
    "Can never succeed; sent by the worker, which says why in message attributes.\n"
    "The body is byte for byte what was received, so that a redrive sends the same "
    "message.\n"
    "The message's own attributes stand beside the ones below, as far as the limit of "
    f"{MAX_ATTRIBUTES} leaves room."
)

_EXHAUSTED: Final = (
    "Failed at every delivery that the queue allows; moved by SQS as it was, without a "
    "reason.\n"
    "It may be a valid request that met an outage: redrive it, and find the reasons in "
    "the worker's log."
)


def messages(schemas: Mapping[str, Json]) -> Json:
    """Return the messages, by name.

    Args:
        schemas: The schemas of the payloads and of what they refer to, by name.
    """
    raw = {
        "contentType": "text/plain",
        "payload": {"type": "string", "description": "The body as it was received."},
    }
    return {
        "CreateTicket": _message(_CREATE_TICKET, "CreateTicket", schemas),
        "TicketNumberAssigned": {
            **_message(_ASSIGNED, "TicketNumberAssigned", schemas),
            "headers": _announcement_headers(
                schemas, "TicketNumberAssigned", "the number was assigned"
            ),
        },
        "TicketVoided": {
            **_message(_VOIDED, "TicketVoided", schemas),
            "headers": _announcement_headers(
                schemas, "TicketVoided", "the ticket was voided"
            ),
        },
        "PoisonMessage": {"description": _POISON, **raw, "headers": _poison_headers()},
        "ExhaustedMessage": {"description": _EXHAUSTED, **raw},
    }


def _message(description: str, name: str, schemas: Mapping[str, Json]) -> Json:
    return {
        "description": description,
        "payload": {"$ref": f"#/components/schemas/{name}"},
        "examples": [{"payload": payload} for payload in schemas[name]["examples"]],
    }


def _announcement_headers(
    schemas: Mapping[str, Json], event_name: str, fact: str
) -> Json:
    event = schemas[event_name]["properties"]
    ticket = schemas["AssignedTicket"]["properties"]
    return _headers(
        {
            "event_type": event["type"],
            "project_id": ticket["project_id"],
            "priority": ticket["priority"],
            "replayed": {
                "type": "string",
                "enum": ["true", "false"],
                "description": (
                    f"`true` if {fact} earlier, so that this may be a repeat."
                ),
            },
        }
    )


def _poison_headers() -> Json:
    kinds = {
        name: error.__doc__
        for name, error in vars(errors).items()
        if isinstance(error, type)
        and issubclass(error, errors.PoisonMessageError)
        and error is not errors.PoisonMessageError
    }
    headers: dict[str, Json] = {
        "ErrorType": {
            "enum": list(kinds),
            "description": "\n".join(f"`{name}`: {why}" for name, why in kinds.items()),
        },
        "ErrorMessage": {
            "minLength": 1,
            "maxLength": MAX_REASON_CHARACTERS,
            "description": "The field and what is wrong with it.",
        },
        "SourceMessageId": {
            "description": "The message's id in the queue it came from; the worker's "
            "log has it.",
        },
        "SentTimestamp": {
            "pattern": "^[0-9]+$",
            "description": "When the message was first sent, in epoch milliseconds; "
            "the dead letter's own counts from when it was set aside.",
        },
    }
    return _headers(
        {name: {"type": "string", **each} for name, each in headers.items()}
    )


def _headers(properties: Mapping[str, Json]) -> Json:
    """Each of them is always there; others may be."""
    return {
        "type": "object",
        "required": list(properties),
        "properties": dict(properties),
    }
