"""JSON Schemas of the wire contracts, generated from the models that enforce them.

Where a schema cannot say what a model refuses, its description does.
"""

import json
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core.core_schema import DataclassField, ModelField, TypedDictField

from ticket_numbering.messages import (
    MAX_BODY_BYTES,
    CreateTicket,
    TicketNumberAssigned,
)
from ticketctl.sequences.ticket_voided import TicketVoided, VoidedTicket

Schema = dict[str, Any]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_REQUESTS: Final[list[Schema]] = [
    {
        "project_id": "PROJ",
        "idempotency_key": "order-4711-complaint-1",
        "title": "The invoice shows the wrong total",
    },
    {
        "project_id": "PROJ",
        "idempotency_key": "order-4712-complaint-1",
        "title": "The export loses line breaks",
        "description": "Export the customers.\nAddresses are then on one line.",
        "priority": "high",
        "reporter": "ada@example.com",
        "labels": ["export", "customers"],
        "attributes": {"customer_id": "C-311", "channel": "email"},
    },
]

_EVENTS: Final[list[Schema]] = [
    TicketNumberAssigned.of(
        CreateTicket.parse(json.dumps(_REQUESTS[0])), 42, "2026-01-15T09:30:00.000Z"
    ).model_dump(mode="json")
]

_VOIDED_AT: Final = "2026-01-16T10:00:00.000Z"
_VOIDINGS: Final[list[Schema]] = [
    TicketVoided(
        id="PROJ-42/voided",
        subject="PROJ-42",
        time=_VOIDED_AT,
        data=VoidedTicket(
            project_id="PROJ",
            number=42,
            ticket_key="PROJ-42",
            idempotency_key=_REQUESTS[0]["idempotency_key"],
            reason="duplicate of PROJ-41",
            voided_at=_VOIDED_AT,
        ),
    ).model_dump(mode="json")
]

_REFUSED_BESIDES: Final = (
    "Refused besides what this schema says:\n"
    f"- a body of more than {MAX_BODY_BYTES} bytes of UTF-8;\n"
    "- a body that starts with a byte-order mark, or repeats a name in an object;\n"
    "- a line break, a control character or nothing but white space in the title, the "
    "reporter, a label or the name of an attribute;\n"
    "- a character that SQS does not accept in the description or an attribute: "
    "control characters except tab and line breaks, surrogates, U+FFFE and U+FFFF;\n"
    "- a line break at the end of a project id or a key."
)

_FOR_SUBSCRIBERS: Final = (
    "Ignore members that you do not know, here and in `data`: "
    "later versions may add some under the same `type`."
)

_ADDED: Final[dict[str, tuple[str, list[Schema]]]] = {
    CreateTicket.__name__: (_REFUSED_BESIDES, _REQUESTS),
    TicketNumberAssigned.__name__: (_FOR_SUBSCRIBERS, _EVENTS),
    TicketVoided.__name__: (_FOR_SUBSCRIBERS, _VOIDINGS),
}


class _Generator(GenerateJsonSchema):
    """Leaves out noise, and requires what every event has."""

    def field_title_should_be_set(
        self,
        schema: Any,  # noqa: ARG002 - the signature is pydantic's
    ) -> bool:
        """Never: a title made from a field's name says nothing more."""
        return False

    def field_is_required(
        self,
        field: ModelField | DataclassField | TypedDictField,
        total: bool,  # noqa: FBT001 - the signature is pydantic's
    ) -> bool:
        """An event has every member, those with a default too."""
        is_event = self.mode == "serialization"
        return is_event or super().field_is_required(field, total)


def create_ticket() -> Schema:
    """Return the schema of what producers send."""
    schema = CreateTicket.model_json_schema(schema_generator=_Generator)
    return _identified("create-ticket", schema)


def ticket_number_assigned() -> Schema:
    """Return the schema of what subscribers receive."""
    schema = TicketNumberAssigned.model_json_schema(
        schema_generator=_Generator, mode="serialization"
    )
    return _identified("ticket-number-assigned", schema)


def ticket_voided() -> Schema:
    """Return the schema of what subscribers receive when a ticket is voided."""
    schema = TicketVoided.model_json_schema(
        schema_generator=_Generator, mode="serialization"
    )
    return _identified("ticket-voided", schema)


def components() -> dict[str, Schema]:
    """Return the schemas and what they refer to, as parts of an AsyncAPI document."""
    _, generated = models_json_schema(
        [
            (CreateTicket, "validation"),
            (TicketNumberAssigned, "serialization"),
            (TicketVoided, "serialization"),
        ],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Generator,
    )
    return {name: _completed(schema) for name, schema in generated["$defs"].items()}


def _identified(name: str, schema: Schema) -> Schema:
    identity = f"urn:ticket-numbering:{name}:v1"
    return {"$schema": _DIALECT, "$id": identity} | _completed(schema)


def _completed(schema: Schema) -> Schema:
    """Add what the model cannot say; name and description come first."""
    name, description = schema["title"], schema["description"]
    head = {"title": name, "description": description}
    if name not in _ADDED:
        return head | schema
    more, examples = _ADDED[name]
    head["description"] += f"\n{more}"
    return head | schema | head | {"examples": examples}
