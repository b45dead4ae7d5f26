"""The published contracts agree with the models and the adapters."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from operators.model_services import ModelServices
from simulation.scenarios.requests import validator
from tests.support.builders import (
    SOURCE,
    assigned_event,
    create_ticket,
    plenty,
    queue_record,
    ticket_fields,
)
from tests.support.sample_messages import SAMPLES, VERSION_1
from tests.support.schema_values import ANYTHING, REQUESTS
from tests.support.template_loader import source
from ticket_numbering.adapters.sqs_dead_letters import (
    MAX_MESSAGE_ATTRIBUTES,
    SQSDeadLetters,
)
from ticket_numbering.contract import errors
from ticket_numbering.contract.attributes import REASON_ATTRIBUTES
from ticket_numbering.contract.events import (
    COPIED,
    CloudEvent,
    RefusedRequest,
    TicketRefused,
)
from ticket_numbering.contract.mark_events import (
    TicketErased,
    TicketMarked,
    TicketVoided,
)
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.results import Poison
from tools import contracts


def document(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((contracts.DIRECTORY / name).read_bytes())
    return content


SCHEMAS = {
    schema["title"]: schema
    for schema in (document(path) for path in contracts.documents())
    if "title" in schema
}
REQUEST = SCHEMAS["CreateTicket"]
ASYNCAPI = document("asyncapi.json")
MESSAGES = ASYNCAPI["components"]["messages"]


def schema_accepts(schema: Mapping[str, Any], value: Any) -> bool:
    return validator(schema).is_valid(value)


def published(event: CloudEvent) -> Any:
    return json.loads(event.model_dump_json(exclude_none=True))


def model_accepts(message: Any) -> bool:
    try:
        CreateTicket.parse(json.dumps(message))
    except errors.PoisonMessageError:
        return False
    return True


def test_schemas_and_examples_are_those_of_the_models() -> None:
    directory = contracts.DIRECTORY
    paths = *directory.glob("schemas/*.schema.json"), directory / contracts.ASYNCAPI
    checked_in = {
        str(path.relative_to(directory)): path.read_text("utf-8") for path in paths
    }

    assert contracts.documents() == checked_in, "run `make contracts`"


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_is_complete(name: str) -> None:
    """A member of an event that has no value is absent, and never null."""
    schema, is_request = SCHEMAS[name], name == "CreateTicket"

    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    for part in (schema, *schema.get("$defs", {}).values()):
        for member in part["properties"].values():
            assert member.keys() & {"$ref", "const", "description"}
            assert is_request or {"type": "null"} not in member.get("anyOf", ())


def with_default(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        if "default" in part:
            yield part
        part = [*part.values()]
    if isinstance(part, list):
        for member in part:
            yield from with_default(member)


@pytest.mark.parametrize("name", [*SCHEMAS, "AsyncAPI"])
def test_document_has_no_default_that_its_own_schema_refuses(name: str) -> None:
    """Some validators put defaults in before they judge: Ajv, and so Fastify."""
    whole = SCHEMAS.get(name, ASYNCAPI)
    definitions = {"$defs": whole.get("$defs", {})}

    for part in with_default(whole):
        assert schema_accepts(definitions | part, part["default"]), part


class TestCreateTicket:
    """The worker and the schema accept and refuse the same requests.

    The laboratory reads the samples of all fields by the schema, beside the worker.
    """

    @given(REQUESTS)
    def test_worker_accepts_whatever_the_schema_accepts(self, message: Any) -> None:
        assert schema_accepts(REQUEST, message)
        assert model_accepts(message)

    @given(st.sampled_from([*REQUEST["properties"], "another"]), ANYTHING)
    def test_worker_accepts_a_value_exactly_when_the_schema_does(
        self, name: str, value: Any
    ) -> None:
        message = ticket_fields() | {name: value}

        assert model_accepts(message) == schema_accepts(REQUEST, message)


def refused(request: CreateTicket) -> CloudEvent:
    kind = errors.SequenceFullError
    data = RefusedRequest(
        **request.key._asdict(),
        error_type=kind.__name__,
        field=kind.field,
        message_id="m",
    )
    return TicketRefused.of(data, source=SOURCE)


def marked(kind: type[TicketMarked], request: CreateTicket) -> CloudEvent:
    item = request.content() | {"number": 42} | VERSION_1["marks"]
    return kind.of(item, source=SOURCE)


@pytest.mark.parametrize(
    ("name", "announced"),
    [
        ("TicketNumberAssigned", assigned_event),
        ("TicketRefused", refused),
        ("TicketVoided", partial(marked, TicketVoided)),
        ("TicketErased", partial(marked, TicketErased)),
    ],
)
class TestEvents:
    """The schemas describe every announcement, today's and later ones."""

    def test_schema_requires_all_that_is_announced_of_any_request(
        self, name: str, announced: Any
    ) -> None:
        schema = SCHEMAS[name]
        [data] = schema["$defs"].values()
        requests = [
            create_ticket(**{name: value})
            for name, samples in SAMPLES.items()
            for value in samples.accepted
        ]

        events = [published(announced(request)) for request in requests]

        for event in events:
            Draft202012Validator(schema).validate(event)
            assert set(event) <= set(schema["properties"])
            assert set(event["data"]) <= set(data["properties"])
        assert set(schema["required"]) == set.intersection(*map(set, events))
        assert set(data["required"]) == set.intersection(
            *(set(event["data"]) for event in events)
        )

    def test_schema_accepts_what_a_later_version_adds_and_no_other_event(
        self, name: str, announced: Any
    ) -> None:
        event = published(announced(create_ticket()))
        others = [schema for other, schema in SCHEMAS.items() if other != name]

        assert not any(schema_accepts(schema, event) for schema in others)
        event["unknown"] = event["data"]["unknown"] = "x"
        assert schema_accepts(SCHEMAS[name], event)
        assert "Ignore members that you do not know" in SCHEMAS[name]["description"]


@pytest.mark.parametrize("name", sorted(COPIED))
def test_member_has_the_bounds_of_its_field_when_an_announcement_repeats_it(
    name: str,
) -> None:
    [data] = SCHEMAS["TicketNumberAssigned"]["$defs"].values()

    assert bounds(data["properties"][name]) == bounds(REQUEST["properties"][name])


def bounds(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a present value."""
    kind = schema.get("anyOf", [schema])[0]
    words = {"default", "description", "examples"}
    return {name: rule for name, rule in kind.items() if name not in words}


def test_trace_context_is_documented_as_headers_that_may_be_missing() -> None:
    documented = MESSAGES["TicketNumberAssigned"]["headers"]

    optional = {*documented["properties"]} - {*documented["required"]}
    assert optional >= {"traceparent", "tracestate"}


def test_dead_letter_of_each_poison_error_has_the_documented_headers() -> None:
    """A transient error is never sent straight to the dead-letter queue."""
    sqs = ModelServices().sqs
    kinds = errors.PoisonMessageError.__subclasses__()
    letters = [Poison(queue_record(), kind("t" * 5_000)) for kind in kinds]

    SQSDeadLetters(sqs, "dead").send(letters, plenty)

    for entry in sqs.entries:
        attributes = entry["MessageAttributes"].items()
        headers = {name: attribute["StringValue"] for name, attribute in attributes}
        assert headers.keys() == REASON_ATTRIBUTES
        check_headers("PoisonMessage", headers)
    documented = MESSAGES["PoisonMessage"]["headers"]["properties"]["ErrorType"]
    assert {*documented["enum"]} == {kind.__name__ for kind in kinds}


@pytest.mark.parametrize("name", MESSAGES)
def test_every_message_of_asyncapi_has_examples_that_fit(name: str) -> None:
    message, payload = MESSAGES[name], MESSAGES[name]["payload"]
    schema = resolve(payload["$ref"]) if "$ref" in payload else payload
    assert message["examples"]
    for example in message["examples"]:
        Draft202012Validator(schema).validate(example["payload"])
        if "headers" in message:
            check_headers(name, example["headers"])
        if "replayed" in example.get("headers", ()):
            check_headers(name, example["headers"] | {"replayed": "true"})


@pytest.mark.parametrize("name", MESSAGES)
def test_message_has_no_more_headers_than_sqs_takes(name: str) -> None:
    """SNS discards such an announcement if a queue asks for raw delivery."""
    documented = MESSAGES[name].get("headers", {"properties": ()})

    assert len(documented["properties"]) <= MAX_MESSAGE_ATTRIBUTES


def test_example_of_a_dead_letter_is_refused_for_its_reason() -> None:
    [example] = MESSAGES["PoisonMessage"]["examples"]

    with pytest.raises(errors.PoisonMessageError) as refused:
        CreateTicket.parse(example["payload"])

    assert example["headers"].keys() == REASON_ATTRIBUTES
    assert example["headers"]["ErrorType"] == refused.typename
    assert example["headers"]["ErrorMessage"] == str(refused.value)
    assert example["headers"]["ErrorReason"] == refused.value.reason


def check_headers(message: str, headers: Mapping[str, Any]) -> None:
    documented = MESSAGES[message]["headers"]
    rules = {
        name: resolve(rule["$ref"]) if "$ref" in rule else rule
        for name, rule in documented["properties"].items()
    }
    Draft202012Validator(documented | {"properties": rules}).validate(headers)
    assert {*documented["required"]} <= {*headers} <= {*documented["properties"]}, (
        f"write the headers of {message} in docs/asyncapi.json by hand, "
        "a new one as optional: an older worker leaves it out"
    )


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict) and "$ref" in node:
        yield node["$ref"]
    for child in node.values() if isinstance(node, dict) else node:
        if isinstance(child, dict | list):
            yield from references(child)


def resolve(reference: str) -> Any:
    name, _, pointer = reference.partition("#")
    node: Any = document(name) if name else ASYNCAPI
    for part in filter(None, pointer.split("/")):
        node = node[part]
    return node


def test_every_reference_of_asyncapi_resolves_and_payloads_are_the_schemas() -> None:
    assert all(resolve(reference) for reference in set(references(ASYNCAPI)))
    for name, schema in SCHEMAS.items():
        assert resolve(MESSAGES[name]["payload"]["$ref"]) == schema
    for channel in ASYNCAPI["channels"].values():
        [output] = re.findall("`(.+?)`", channel["description"])
        assert output in source()["Outputs"]
