"""The published contracts agree with the models and the adapters."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from simulation.scenarios.requests import validator
from tests.support.builders import (
    SOURCE,
    announcement,
    create_ticket,
    plenty,
    queue_record,
    ticket_fields,
)
from tests.support.ctl_process import canned_stack
from tests.support.model_services import ModelServices
from tests.support.sample_messages import SAMPLES
from tests.support.schema_values import ANYTHING, REQUESTS
from tests.support.template_loader import source
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.adapters.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.contract import errors
from ticket_numbering.contract.dynamodb_items import ERASED, VOIDED
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.events import (
    COPIED,
    RefusedRequest,
    TicketNumberAssigned,
    TicketRefused,
)
from ticket_numbering.contract.mark_events import TicketErased, TicketVoided
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.results import Poison
from ticketctl.aws.items import Ticket
from ticketctl.sequences.announcing import Announcer
from ticketctl.sequences.marking import Marked, Marking
from tools import contracts, pictures

STAMP = "2026-11-21T06:30:00.123Z"


def document(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((contracts.DIRECTORY / name).read_bytes())
    return content


MODELS: list[type[BaseModel]] = [
    *(CreateTicket, TicketNumberAssigned, TicketRefused, TicketVoided, TicketErased)
]
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


def model_accepts(message: Any) -> bool:
    try:
        CreateTicket.parse(json.dumps(message))
    except errors.PoisonMessageError:
        return False
    return True


def test_schemas_and_examples_are_those_of_the_models() -> None:
    """If this fails, run `make contracts`."""
    directory = contracts.DIRECTORY
    paths = *directory.glob("schemas/*.schema.json"), directory / contracts.ASYNCAPI
    checked_in = {
        str(path.relative_to(directory)): path.read_text("utf-8") for path in paths
    }

    assert contracts.documents() == checked_in


def test_picture_of_the_dashboard_is_of_the_template() -> None:
    checked_in = (pictures.PICTURES / "dashboard.svg").read_text(encoding="utf-8")

    assert pictures.dashboard_svg() == checked_in


@pytest.mark.parametrize("model", MODELS)
def test_schema_is_complete_and_takes_its_examples_as_the_model_does(
    model: type[BaseModel],
) -> None:
    """A member of an event that has no value is absent, and never null."""
    schema, is_request = SCHEMAS[model.__name__], model is CreateTicket

    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    for example in schema["examples"]:
        parsed = model.model_validate(example)
        dumped = parsed.model_dump(
            mode="json", exclude_defaults=is_request, exclude_none=not is_request
        )
        assert dumped == example
    for part in (schema, *schema.get("$defs", {}).values()):
        for member in part["properties"].values():
            assert member.keys() & {"$ref", "const", "description"}
            assert is_request or {"type": "null"} not in member.get("anyOf", ())


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


Entry = Mapping[str, Any]


def headers(entry: Entry) -> dict[str, Any]:
    attributes = entry["MessageAttributes"].items()
    return {name: attribute["StringValue"] for name, attribute in attributes}


def event_of(entry: Entry) -> Any:
    return json.loads(entry["Message"])


def published(envelope: Envelope) -> Entry:
    sns = ModelServices().sns
    SNSPublisher(sns, "topic").publish([envelope], plenty)
    return only(sns.entries)


def only(entries: Sequence[Entry]) -> Entry:
    [entry] = entries
    return entry


def assigned(*, replayed: bool = False, **fields: Any) -> Entry:
    return published(announcement(create_ticket(**fields), 42, replayed=replayed))


def refusal(*, replayed: bool = False, **fields: Any) -> Entry:
    """Return the refusal of a request; a repeat looks like the first."""
    del replayed
    request = create_ticket(**fields)
    refused_request = RefusedRequest(
        project_id=request.project_id,
        idempotency_key=request.idempotency_key,
        error_type=errors.SequenceFullError.__name__,
        field=errors.SequenceFullError.field,
        message_id="m",
    )
    event = TicketRefused.of(refused_request, source=SOURCE)
    return published(Envelope.of_refusal(event))


def marked(status: str, *, replayed: bool = False, **fields: Any) -> Entry:
    sns = ModelServices().sns
    outputs = {"AssignmentsTopicArn": "topic", "EventSource": SOURCE}
    request = create_ticket(**fields)
    times = {"voided_at": STAMP, "erased_at": STAMP}
    reasons = {"voided_reason": "duplicate", "erased_reason": "asked to"}
    item = request.model_dump(exclude_none=True) | times | reasons
    item |= {"number": 42, "status": status}
    ticket, stack = Ticket("PROJ", 42, item), canned_stack(outputs, sns=sns)
    marking = Marking(stack, status, "", "")
    marking.announce(Marked(ticket, replayed), Announcer(stack))
    return only(sns.entries)


@pytest.mark.parametrize(
    ("name", "announced"),
    [
        ("TicketNumberAssigned", assigned),
        ("TicketRefused", refusal),
        ("TicketVoided", partial(marked, VOIDED)),
        ("TicketErased", partial(marked, ERASED)),
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
            {name: value}
            for name, samples in SAMPLES.items()
            for value in samples.accepted
        ]

        events = [event_of(announced(**fields)) for fields in requests]

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
        event = event_of(announced())
        others = [schema for other, schema in SCHEMAS.items() if other != name]

        assert not any(schema_accepts(schema, event) for schema in others)
        event["unknown"] = event["data"]["unknown"] = "x"
        assert schema_accepts(SCHEMAS[name], event)
        assert "Ignore members that you do not know" in SCHEMAS[name]["description"]

    @pytest.mark.parametrize("replayed", [True, False])
    def test_announcement_has_the_documented_headers(
        self, name: str, announced: Any, *, replayed: bool
    ) -> None:
        check_headers(name, headers(announced(replayed=replayed)))


@pytest.mark.parametrize("name", sorted(COPIED))
def test_member_has_the_bounds_of_its_field_when_an_announcement_repeats_it(
    name: str,
) -> None:
    [data] = SCHEMAS["TicketNumberAssigned"]["$defs"].values()

    assert bounds(data["properties"][name]) == bounds(REQUEST["properties"][name])


def bounds(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a schema says of a value that is there."""
    kind = schema.get("anyOf", [schema])[0]
    words = {"default", "description", "examples"}
    return {name: rule for name, rule in kind.items() if name not in words}


def test_trace_context_is_documented_as_headers_that_may_be_missing() -> None:
    trace = {"traceparent": "00-1-2-01", "tracestate": "a=b"}
    envelope = announcement()
    attributes = {**envelope.attributes, **trace}

    found = headers(published(replace(envelope, attributes=attributes)))

    documented = MESSAGES["TicketNumberAssigned"]["headers"]
    assert set(found) == set(documented["properties"])
    assert set(found) - set(documented["required"]) == set(trace)


class TestDeadLetters:
    """The attributes of a dead letter say why it is one."""

    @pytest.mark.parametrize("kind", errors.PoisonMessageError.__subclasses__())
    def test_dead_letter_has_the_documented_headers(
        self, kind: type[errors.PoisonMessageError]
    ) -> None:
        sqs = ModelServices().sqs
        dead_letter = Poison(queue_record(), kind("title: " + "x" * 5_000))

        SQSDeadLetters(sqs, "dead").send([dead_letter], plenty)

        check_headers("PoisonMessage", headers(only(sqs.entries)))

    def test_documented_errors_are_exactly_the_poison_ones(self) -> None:
        """A transient error is never sent straight to the dead-letter queue."""
        kinds = errors.PoisonMessageError.__subclasses__()

        documented = MESSAGES["PoisonMessage"]["headers"]["properties"]["ErrorType"]
        assert set(documented["enum"]) == {kind.__name__ for kind in kinds}


@pytest.mark.parametrize("name", MESSAGES)
def test_every_message_of_asyncapi_has_examples_that_fit(name: str) -> None:
    message, payload = MESSAGES[name], MESSAGES[name]["payload"]
    schema = resolve(payload["$ref"]) if "$ref" in payload else payload
    assert message["examples"]
    for example in message["examples"]:
        Draft202012Validator(schema).validate(example["payload"])
        if "headers" in message:
            check_headers(name, example["headers"])


def test_example_of_a_dead_letter_is_refused_for_its_reason() -> None:
    [example] = MESSAGES["PoisonMessage"]["examples"]

    with pytest.raises(errors.PoisonMessageError) as refused:
        CreateTicket.parse(example["payload"])

    assert example["headers"]["ErrorType"] == refused.typename
    assert example["headers"]["ErrorMessage"] == str(refused.value)


def check_headers(message: str, found: Mapping[str, Any]) -> None:
    documented = MESSAGES[message]["headers"]
    rules = {
        name: resolve(rule["$ref"]) if "$ref" in rule else rule
        for name, rule in documented["properties"].items()
    }
    Draft202012Validator(documented | {"properties": rules}).validate(found)
    assert set(found) == set(documented["required"])


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
