"""Writes the JSON Schemas of the messages, and the examples of all messages.

The schemas come from the models that enforce them.
For people and tools that send create-ticket messages or subscribe to announcements;
`docs/asyncapi.json`, written by hand but for its examples, refers to them.
A rule of a model that a schema cannot express stands in its description.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema

from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.errors import SequenceFullError
from ticket_numbering.contract.events import (
    RefusedRequest,
    TicketNumberAssigned,
    TicketRefused,
)
from ticket_numbering.contract.mark_events import TicketErased, TicketVoided
from ticket_numbering.contract.messages import MAX_BODY_BYTES, Assignment, CreateTicket
from tools import generated

DIRECTORY: Final = Path(__file__).resolve().parents[1] / "docs"
ASYNCAPI: Final = "asyncapi.json"
_ALSO_REFUSED: Final = (
    "Also refused, beyond this schema:\n"
    f"- a body of more than {MAX_BODY_BYTES} bytes of UTF-8;\n"
    "- a body that starts with a byte-order mark, or repeats a name in an object;\n"
    "- a surrogate that is not half of a pair, in any text."
)
_FOR_SUBSCRIBERS: Final = (
    "Ignore members that you do not know, here and in `data`, and expect values that "
    "an enumeration lacks: later versions may add some under the same `type`."
)

_SHORTEST: Final = {
    "project_id": "PROJ",
    "idempotency_key": "order-4711-complaint-1",
    "title": "The invoice shows the wrong total",
}
_SOURCE: Final = "/ticket-numbering/ticket-numbering-prod"
_FULL: Final = {
    name: field.examples[0]
    for name, field in CreateTicket.model_fields.items()
    if field.examples
}
REQUEST: Final = CreateTicket.parse(json.dumps(_SHORTEST))
ASSIGNMENT: Final = Assignment(42, REQUEST.fingerprint, "2026-01-15T09:30:00.000Z")
_ASSIGNED: Final = TicketNumberAssigned.of(REQUEST, ASSIGNMENT, source=_SOURCE)
_REFUSED: Final = RefusedRequest(
    **REQUEST.key._asdict(),
    error_type=SequenceFullError.__name__,
    field=SequenceFullError.field,
    reason=SequenceFullError.reason,
    message_id="6f2d1c0e-5a0b-4c1f-9d43-7b1a3c2e9f10",
    sent_at="2026-01-15T09:29:59.000Z",
)
_MARKED: Final = {
    **REQUEST.key._asdict(),
    "number": 42,
    "voided_reason": "duplicate of PROJ-41",
    "voided_at": "2026-01-16T10:00:00.000Z",
    "erased_reason": "request of the person named",
    "erased_at": "2026-01-17T10:00:00.000Z",
}
_of_ticket: Final = partial(
    Envelope.of_ticket, key=REQUEST.key, priority=REQUEST.priority, replayed=False
)
EVENTS: Final = {
    "ticket-number-assigned": _of_ticket(_ASSIGNED),
    "ticket-voided": _of_ticket(TicketVoided.of(_MARKED, source=_SOURCE)),
    "ticket-erased": _of_ticket(TicketErased.of(_MARKED, source=_SOURCE)),
    "ticket-refused": Envelope.of_refusal(TicketRefused.of(_REFUSED, source=_SOURCE)),
}
"""The examples, by the names of their schemas."""


class _Generator(GenerateJsonSchema):
    """Leaves out noise, and requires the members of every event."""

    def default_schema(self, schema: Any) -> dict[str, Any]:
        """Leave out null in events, where it means an absent member."""
        schema_of_default = super().default_schema(schema)
        if (
            self.mode == "serialization"
            and schema_of_default.get("default", ...) is None
        ):
            del schema_of_default["default"]
        return schema_of_default

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's.
        """Return False: a title made from a field's name adds nothing."""
        return False

    def field_is_required(self, field: Any, total: Any) -> bool:
        """Tell whether an event always has the member: if it cannot be None."""
        is_event = self.mode == "serialization"
        may_be_none = field["schema"].get("default", ...) is None
        required = super().field_is_required(field, total)
        return required or (is_event and not may_be_none)


def documents() -> dict[str, str]:
    """Return the text of every document, by its path below the directory."""
    files, api = {}, json.loads((DIRECTORY / ASYNCAPI).read_bytes())
    for name, schema in _schemas().items():
        headers = {"headers": {**EVENTS[name].attributes}} if name in EVENTS else {}
        api["components"]["messages"][schema["title"]]["examples"] = [
            {**headers, "payload": payload} for payload in schema["examples"]
        ]
        files[f"schemas/{name}.schema.json"] = generated.as_json(schema)
    return files | {ASYNCAPI: generated.as_json(api)}


def _schemas() -> dict[str, dict[str, Any]]:
    request = CreateTicket.model_json_schema(schema_generator=_Generator)
    schemas = {"create-ticket": _complete(request, _ALSO_REFUSED, _SHORTEST, _FULL)}
    for name, envelope in EVENTS.items():
        schema = envelope.event.model_json_schema(
            schema_generator=_Generator, mode="serialization"
        )
        schemas[name] = _complete(
            schema, _FOR_SUBSCRIBERS, json.loads(envelope.message)
        )
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {
        name: {**head, "$id": f"urn:ticket-numbering:{name}:v1", **schema}
        for name, schema in schemas.items()
    }


def _complete(schema: dict[str, Any], more: str, *examples: Any) -> dict[str, Any]:
    """Add the rules that the model cannot express; title and description come first."""
    described = f"{schema['description']}\n{more}"
    head = {"title": schema["title"], "description": described}
    return head | schema | head | {"examples": examples}


if __name__ == "__main__":
    generated.write(documents(), DIRECTORY)
