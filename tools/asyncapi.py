"""The AsyncAPI 3.0 document: channels, operations, messages, as the worker sees them.

It names no account and no resource: those are the outputs of a deployed stack.
"""

from collections.abc import Mapping
from typing import Any, Final

from tools.asyncapi_messages import messages

Json = dict[str, Any]

_INFO: Final = {
    "title": "Ticket numbering",
    "version": "1.0.0",
    "description": (
        "Gives the tickets of every project the numbers 1, 2, 3, ... without a gap, "
        "one number per idempotency key for ever, and announces each number at least "
        "once.\nNo message is lost: it ends numbered and announced, or in the "
        "dead-letter queue."
    ),
}


def document(schemas: Mapping[str, Json]) -> Json:
    """Return the document.

    Args:
        schemas: The schemas of the messages and of what they refer to, by name;
            their references point into the document's components.
    """
    return {
        "asyncapi": "3.0.0",
        "info": _INFO,
        "defaultContentType": "application/json",
        "servers": {
            "sqs": _server("sqs", "Amazon Simple Queue Service"),
            "sns": _server("sns", "Amazon Simple Notification Service"),
        },
        "channels": _channels(),
        "operations": _operations(),
        "components": {"messages": messages(schemas), "schemas": dict(schemas)},
    }


def _server(service: str, title: str) -> Json:
    return {
        "host": f"{service}.{{region}}.amazonaws.com",
        "protocol": service,
        "description": f"{title} in the Region of the stack.",
        "variables": {"region": {"description": "Such as eu-west-1."}},
    }


def _channels() -> Json:
    # The bindings demand names; those of a stack's resources are in its outputs.
    # Timeouts, retention and counts are the template's alone to say.
    dead_letters = {"name": "create-ticket-dead-letters", "fifoQueue": False}
    requests = {
        "name": "create-ticket",
        "fifoQueue": False,
        "redrivePolicy": {"deadLetterQueue": {"name": dead_letters["name"]}},
    }
    topic = {"name": "assignments", "ordering": {"type": "standard"}}
    return {
        "createTicket": _channel(
            "Requests for tickets: the queue of the stack's output "
            "`CreateTicketQueueUrl`.",
            {"sqs": {"queue": requests, "deadLetterQueue": dead_letters}},
            "CreateTicket",
        ),
        "ticketNumbersAssigned": _channel(
            "Assigned numbers, and what becomes of their tickets: the topic of the "
            "stack's output `AssignmentsTopicArn`.",
            {"sns": topic},
            "TicketNumberAssigned",
            "TicketVoided",
        ),
        "createTicketDeadLetters": _channel(
            "Requests that got no number: the queue of the stack's output "
            "`DeadLetterQueueUrl`.",
            {"sqs": {"queue": dead_letters}},
            "PoisonMessage",
            "ExhaustedMessage",
        ),
    }


def _channel(description: str, bindings: Json, *names: str) -> Json:
    (service,) = bindings
    return {
        "address": None,  # Known once a stack is deployed.
        "description": description,
        "servers": [_reference("servers", service)],
        "messages": {
            name: _reference("components", "messages", name) for name in names
        },
        "bindings": bindings,
    }


def _operations() -> Json:
    return {
        "receiveCreateTicket": _operation(
            "receive",
            ("createTicket", "CreateTicket"),
            "Give the ticket its number.\n"
            "SQS delivers at least once and in any order; a message that comes again "
            "gets the same number.",
        ),
        "sendTicketNumberAssigned": _operation(
            "send",
            ("ticketNumbersAssigned", "TicketNumberAssigned"),
            "Announce the number: at least once, always under the same `id`.",
        ),
        "sendTicketVoided": _operation(
            "send",
            ("ticketNumbersAssigned", "TicketVoided"),
            "Announce that a ticket should not have been, when an operator voids it.\n"
            "It keeps its number; at least once, always under the same `id`.",
        ),
        "sendPoisonMessage": _operation(
            "send",
            ("createTicketDeadLetters", "PoisonMessage"),
            "Set aside, at its first delivery, what can never succeed.\n"
            "The message leaves the queue it came from only after that.",
        ),
    }


def _operation(action: str, what: tuple[str, str], description: str) -> Json:
    channel, message = what
    return {
        "action": action,
        "channel": _reference("channels", channel),
        "description": description,
        "messages": [_reference("channels", channel, "messages", message)],
    }


def _reference(*path: str) -> dict[str, str]:
    return {"$ref": "/".join(("#", *path))}
