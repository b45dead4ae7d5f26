"""The published contracts say what the models enforce and the adapters send."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support import template_loader
from tests.support.builders import create_ticket, plenty, queue_record, ticket_fields
from ticket_numbering import errors
from ticket_numbering.messages import CreateTicket, TicketNumberAssigned
from ticket_numbering.ports import Announcement, DeadLetter
from ticket_numbering.sns_publisher import SNSPublisher
from ticket_numbering.sqs_dead_letters import SQSDeadLetters
from ticketctl.sequences.ticket_voided import TicketVoided
from ticketctl.sequences.voiding import Voided, announce
from ticketctl.system.items import Ticket
from tools import contracts

STAMP = "2026-11-21T06:30:00.123Z"


def document(name: str) -> dict[str, Any]:
    """Return a checked-in document."""
    content: dict[str, Any] = json.loads((contracts.DIRECTORY / name).read_bytes())
    return content


REQUEST = document("schemas/create-ticket.schema.json")
EVENT = document("schemas/ticket-number-assigned.schema.json")
VOIDED = document("schemas/ticket-voided.schema.json")
ASYNCAPI = document("asyncapi.json")


def schema_accepts(schema: Mapping[str, Any], value: Any) -> bool:
    """Tell whether a value is valid against a schema."""
    return Draft202012Validator(schema).is_valid(value)


def model_accepts(message: Any) -> bool:
    """Tell whether the worker takes a message."""
    try:
        CreateTicket.parse(json.dumps(message))
    except errors.PoisonMessageError:
        return False
    return True


def event_of(**fields: Any) -> dict[str, Any]:
    """Return an announcement as it is published."""
    event = TicketNumberAssigned.of(create_ticket(**fields), 42, STAMP)
    parsed: dict[str, Any] = json.loads(event.model_dump_json())
    return parsed


def test_schemas_are_those_of_the_models(tmp_path: Path) -> None:
    """If this fails, run `make contracts`."""
    contracts.main([str(tmp_path)])

    written = {
        path.name: path.read_bytes() for path in (tmp_path / "schemas").iterdir()
    }
    assert written == {
        path.name: path.read_bytes()
        for path in (contracts.DIRECTORY / "schemas").iterdir()
    }


@pytest.mark.parametrize(
    "schema", [REQUEST, EVENT, VOIDED], ids=lambda each: each["title"]
)
class TestSchemas:
    """The files are complete JSON Schemas."""

    def test_schema_is_valid_draft_2020_12(self, schema: dict[str, Any]) -> None:
        Draft202012Validator.check_schema(schema)

        assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]

    def test_schema_says_what_it_is(self, schema: dict[str, Any]) -> None:
        assert schema["$id"].startswith("urn:ticket-numbering:")
        assert schema["title"]
        assert schema["description"]

    def test_schema_accepts_its_examples(self, schema: dict[str, Any]) -> None:
        assert schema["examples"]
        for example in schema["examples"]:
            Draft202012Validator(schema).validate(example)


@dataclass(frozen=True)
class Sample:
    """Fields over a valid request, and whether model and schema take the result."""

    name: str
    fields: Mapping[str, Any]
    model: bool
    schema: bool
    without: Sequence[str] = field(default=())

    @property
    def message(self) -> dict[str, Any]:
        """The whole message."""
        fields = ticket_fields() | dict(self.fields)
        return {name: fields[name] for name in fields if name not in self.without}


def good(name: str, **fields: Any) -> Sample:
    """Return a sample that both take."""
    return Sample(name, fields, model=True, schema=True)


def bad(name: str, *without: str, **fields: Any) -> Sample:
    """Return a sample that both refuse."""
    return Sample(name, fields, model=False, schema=False, without=without)


def beyond_schema(name: str, **fields: Any) -> Sample:
    """Return a sample that only the model refuses; the description says so."""
    return Sample(name, fields, model=False, schema=True)


SAMPLES = [
    good("minimal"),
    good("longest project", project_id="P" * 64),
    good("every sign of a project", project_id="aZ09._-"),
    good("longest key", idempotency_key="~" * 128),
    good("every sign of a key", idempotency_key="".join(map(chr, range(33, 127)))),
    good("longest title in code points", title="\U0001f511" * 200),
    good("no description", description=None),
    good("empty description", description=""),
    good("description of several lines", description="a\r\n\tb"),
    good("longest description", description="x" * 65_536),
    *[good(each, priority=each) for each in ("low", "medium", "high", "urgent")],
    good("no reporter", reporter=None),
    good("longest reporter", reporter="r" * 254),
    good("no labels", labels=[]),
    good("most labels", labels=["l" * 64] * 20),
    good("most attributes", attributes={f"{n:0128}": "v" * 1024 for n in range(50)}),
    good("empty attribute", attributes={"a": ""}),
    bad("no project", "project_id"),
    bad("no key", "idempotency_key"),
    bad("no title", "title"),
    bad("unknown field", assignee="ada"),
    bad("project with #", project_id="PROJ#1"),
    bad("empty project", project_id=""),
    bad("project too long", project_id="P" * 65),
    bad("project is a number", project_id=1),
    bad("key with a space", idempotency_key="a b"),
    bad("key not ASCII", idempotency_key="\u00e9"),
    bad("empty key", idempotency_key=""),
    bad("key too long", idempotency_key="k" * 129),
    bad("title is null", title=None),
    bad("title is a number", title=42),
    bad("empty title", title=""),
    bad("title too long", title="x" * 201),
    bad("description too long", description="x" * 65_537),
    bad("priority unknown", priority="whenever"),
    bad("priority in capitals", priority="HIGH"),
    bad("priority is null", priority=None),
    bad("empty reporter", reporter=""),
    bad("reporter too long", reporter="r" * 255),
    bad("labels are null", labels=None),
    bad("labels are text", labels="urgent"),
    bad("labels are an object", labels={"a": "b"}),
    bad("too many labels", labels=["l"] * 21),
    bad("empty label", labels=[""]),
    bad("label too long", labels=["l" * 65]),
    bad("label is a number", labels=[1]),
    bad("attributes are null", attributes=None),
    bad("attributes are an array", attributes=[]),
    bad("too many attributes", attributes={str(n): "" for n in range(51)}),
    bad("attribute is a number", attributes={"weight": 1}),
    bad("attribute is an object", attributes={"a": {}}),
    bad("attribute without a name", attributes={"": "x"}),
    bad("name of attribute too long", attributes={"n" * 129: "x"}),
    bad("attribute too long", attributes={"a": "v" * 1025}),
    beyond_schema("title of two lines", title="a\nb"),
    beyond_schema("title with a paragraph separator", title="a\u2029b"),
    beyond_schema("title with a C1 control", title="a\u0085b"),
    beyond_schema("title of white space", title="\u3000 "),
    beyond_schema("reporter of white space", reporter=" "),
    beyond_schema("label of two lines", labels=["a\nb"]),
    beyond_schema("name of attribute with a tab", attributes={"a\tb": "x"}),
    beyond_schema("attribute with a control character", attributes={"a": "\x1b"}),
    beyond_schema("description with NUL", description="a\0b"),
    beyond_schema("description with U+FFFF", description="\uffff"),
    beyond_schema("description with a lone surrogate", description="\ud83d"),
    # Python's `$` matches before a last line break; in ECMA-262, which JSON Schema
    # names, and in the model, it does not.
    beyond_schema("project with a last line break", project_id="PROJ\n"),
    beyond_schema("key with a last line break", idempotency_key="k\n"),
    # Every field keeps its bound; together with the rest it is over the body's.
    beyond_schema("body too large", description="\U0001f511" * 65_536),
]

VALUES: list[Any] = [
    *(None, True, 0, 1.5, "", " ", "a", "low", "LOW", "a b", "a#b", "\n", "\u00e9"),
    *("x" * length for length in (64, 65, 128, 129, 200, 201, 254, 255, 65_537)),
    *([], [""], ["a"], ["a", "a"], [1], [None], [[]], ["a"] * 21),
    *({}, {"a": "b"}, {"a": 1}, {"a": None}, {"": "b"}, {"a": {"b": "c"}}),
]


class TestCreateTicket:
    """The schema never refuses what the worker takes, and says what it can."""

    @pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.name)
    def test_model_and_schema_answer_as_the_table_says(self, sample: Sample) -> None:
        """Where they differ, the schema cannot express the rule."""
        message = sample.message

        assert model_accepts(message) == sample.model
        assert schema_accepts(REQUEST, message) == sample.schema

    @pytest.mark.parametrize("name", REQUEST["properties"])
    def test_schema_accepts_whatever_the_model_accepts(self, name: str) -> None:
        messages = [ticket_fields() | {name: value} for value in VALUES]
        accepted = [each for each in messages if model_accepts(each)]

        refused = [each for each in accepted if not schema_accepts(REQUEST, each)]
        assert accepted
        assert refused == []

    def test_samples_cover_every_field_both_ways(self) -> None:
        """A field added later needs samples of its own."""
        fields = set(REQUEST["properties"])

        assert fields == {
            name for each in SAMPLES if each.model for name in each.fields
        }
        assert fields <= {
            name for each in SAMPLES if not each.schema for name in each.fields
        }

    @pytest.mark.parametrize("example", REQUEST["examples"])
    def test_example_is_taken_by_the_worker(self, example: dict[str, Any]) -> None:
        request = CreateTicket.parse(json.dumps(example))

        assert request.model_dump(mode="json", exclude_defaults=True) == example


class TestTicketNumberAssigned:
    """The schema describes every announcement, today's and later ones."""

    @pytest.mark.parametrize(
        "sample", [each for each in SAMPLES if each.model], ids=lambda each: each.name
    )
    def test_schema_accepts_the_announcement_of_every_request(
        self, sample: Sample
    ) -> None:
        Draft202012Validator(EVENT).validate(event_of(**sample.message))

    def test_schema_requires_all_that_is_published(self) -> None:
        event = event_of()

        assert set(EVENT["required"]) == set(event)
        assert set(EVENT["$defs"]["AssignedTicket"]["required"]) == set(event["data"])

    @pytest.mark.parametrize("name", event_of())
    def test_schema_refuses_an_event_without_a_member(self, name: str) -> None:
        event = event_of()
        del event[name]

        assert not schema_accepts(EVENT, event)

    def test_schema_accepts_unknown_members(self) -> None:
        """What a later version adds breaks no subscriber that validates."""
        event = event_of()
        event["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-00"
        event["data"]["reporter"] = "ada@example.com"

        assert schema_accepts(EVENT, event)
        assert "Ignore members that you do not know" in EVENT["description"]

    @pytest.mark.parametrize("example", EVENT["examples"])
    def test_example_is_what_the_worker_publishes(
        self, example: dict[str, Any]
    ) -> None:
        event = TicketNumberAssigned.model_validate(example)

        assert event.model_dump(mode="json") == example
        assert datetime.fromisoformat(event.time).tzinfo is UTC


def references(node: Any) -> Iterator[str]:
    """Return every reference below a node."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for child in node.values():
            yield from references(child)
    elif isinstance(node, list):
        for child in node:
            yield from references(child)


def resolve(reference: str) -> Any:
    """Return what a reference of the AsyncAPI document points at."""
    name, _, pointer = reference.partition("#")
    node: Any = document(name) if name else ASYNCAPI
    for part in filter(None, pointer.split("/")):
        node = node[part]
    return node


def headers_of(message: str) -> dict[str, Any]:
    """Return the schema of a message's headers, with what it refers to put in."""
    headers: dict[str, Any] = ASYNCAPI["components"]["messages"][message]["headers"]
    properties = {
        name: resolve(rule["$ref"]) if "$ref" in rule else rule
        for name, rule in headers["properties"].items()
    }
    return headers | {"properties": properties}


class TestAsyncAPI:
    """The document has the structure that AsyncAPI 3.0 asks for.

    The specification's own JSON Schema comes in no Python package, and a copy of its
    400 KB would have to be kept up to date; so the rules that matter are asserted.
    """

    def test_document_has_the_required_members(self) -> None:
        """And no other: the specification allows none but its own."""
        assert ASYNCAPI["asyncapi"] == "3.0.0"
        assert {"title", "version"} <= set(ASYNCAPI["info"])
        assert set(ASYNCAPI) - {"asyncapi", "info"} == {
            "defaultContentType",
            "servers",
            "channels",
            "operations",
            "components",
        }

    def test_references_resolve(self) -> None:
        found = set(references(ASYNCAPI))

        assert found
        assert all(isinstance(resolve(each), dict) for each in found)

    @pytest.mark.parametrize(
        ("message", "schema"),
        [
            ("CreateTicket", REQUEST),
            ("TicketNumberAssigned", EVENT),
            ("TicketVoided", VOIDED),
        ],
    )
    def test_payload_is_the_schema_of_the_message(
        self, message: str, schema: dict[str, Any]
    ) -> None:
        payload = ASYNCAPI["components"]["messages"][message]["payload"]

        assert resolve(payload["$ref"]) == schema

    def test_channels_are_bound_to_their_service(self) -> None:
        for channel in ASYNCAPI["channels"].values():
            [server] = channel["servers"]
            assert list(channel["bindings"]) == [resolve(server["$ref"])["protocol"]]

    def test_channels_name_outputs_of_the_template(self) -> None:
        outputs = template_loader.source()["Outputs"]
        named = [
            re.findall("`(.+?)`", channel["description"])
            for channel in ASYNCAPI["channels"].values()
        ]

        assert all(len(each) == 1 and each[0] in outputs for each in named)

    def test_queue_names_its_dead_letter_queue(self) -> None:
        channels = ASYNCAPI["channels"]
        requests = channels["createTicket"]["bindings"]["sqs"]
        parked = channels["createTicketDeadLetters"]["bindings"]["sqs"]["queue"]

        target = requests["queue"]["redrivePolicy"]["deadLetterQueue"]["name"]
        assert target == parked["name"]
        assert requests["deadLetterQueue"] == parked

    def test_operations_refer_to_messages_of_their_own_channel(self) -> None:
        """The specification allows no other."""
        for operation in ASYNCAPI["operations"].values():
            channel = operation["channel"]["$ref"]
            for message in operation["messages"]:
                assert message["$ref"].startswith(f"{channel}/messages/")

    def test_every_message_has_a_channel(self) -> None:
        used = {
            reference["$ref"].rpartition("/")[2]
            for channel in ASYNCAPI["channels"].values()
            for reference in channel["messages"].values()
        }

        assert used == set(ASYNCAPI["components"]["messages"])


@dataclass
class Topic:
    """A stack of one topic, and what was published to it."""

    published: list[dict[str, Any]] = field(default_factory=list)
    outputs: Mapping[str, str] = field(
        default_factory=lambda: {"AssignmentsTopicArn": "topic"}
    )

    def client(self, service_name: str) -> Any:
        """Return itself for the client of SNS."""
        assert service_name == "sns"
        return self

    def publish(self, **request: Any) -> None:
        """Take a message."""
        self.published.append(request)


def announce_voided(*, replayed: bool = False, **fields: Any) -> dict[str, Any]:
    """Return what is published for a voided ticket."""
    topic = Topic()
    request = create_ticket(**fields).model_dump(exclude_defaults=True)
    stored = {**request, "voided_at": STAMP, "voided_reason": "duplicate"}
    announce(topic, Voided(Ticket(request["project_id"], 42, stored), replayed))
    [published] = topic.published
    return published


class TestTicketVoided:
    """The schema describes what is announced when a ticket is voided."""

    @pytest.mark.parametrize(
        "sample", [each for each in SAMPLES if each.model], ids=lambda each: each.name
    )
    def test_schema_accepts_the_announcement_of_every_ticket(
        self, sample: Sample
    ) -> None:
        event = json.loads(announce_voided(**sample.message)["Message"])

        Draft202012Validator(VOIDED).validate(event)
        assert set(VOIDED["required"]) == set(event)
        assert set(VOIDED["$defs"]["VoidedTicket"]["required"]) == set(event["data"])

    def test_schema_refuses_another_event(self) -> None:
        assert not schema_accepts(VOIDED, event_of())
        assert not schema_accepts(EVENT, json.loads(announce_voided()["Message"]))

    @pytest.mark.parametrize("example", VOIDED["examples"])
    def test_example_is_what_is_published(self, example: dict[str, Any]) -> None:
        assert TicketVoided.model_validate(example).model_dump(mode="json") == example

    def test_fields_that_both_events_have_are_alike(self) -> None:
        voided = VOIDED["$defs"]["VoidedTicket"]["properties"]
        assigned = EVENT["$defs"]["AssignedTicket"]["properties"]

        for name in voided.keys() & assigned.keys():
            rules = [
                {key: rule for key, rule in each[name].items() if key != "description"}
                for each in (voided, assigned)
            ]
            assert rules[0] == rules[1]

    @pytest.mark.parametrize("replayed", [True, False])
    def test_announcement_has_the_documented_headers(self, *, replayed: bool) -> None:
        attributes = announce_voided(replayed=replayed)["MessageAttributes"]
        headers = {name: each["StringValue"] for name, each in attributes.items()}

        documented = headers_of("TicketVoided")
        Draft202012Validator(documented).validate(headers)
        assert set(headers) == set(documented["required"])


class Recorder:
    """A client of SNS and SQS that takes everything, and keeps it."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def publish_batch(self, **call: Any) -> dict[str, Any]:
        """Take announcements."""
        return self._take(call["PublishBatchRequestEntries"])

    def send_message_batch(self, **call: Any) -> dict[str, Any]:
        """Take dead letters."""
        return self._take(call["Entries"])

    def headers(self) -> dict[str, Any]:
        """Return the message attributes of the one entry."""
        [entry] = self.entries
        attributes = entry["MessageAttributes"].items()
        return {name: attribute["StringValue"] for name, attribute in attributes}

    def _take(self, entries: list[dict[str, Any]]) -> dict[str, Any]:
        self.entries += entries
        return {"Successful": [{"Id": entry["Id"]} for entry in entries]}


class TestHeaders:
    """The documented headers are the message attributes that the adapters send."""

    @pytest.mark.parametrize("replayed", [True, False])
    def test_announcement_has_the_documented_headers(self, *, replayed: bool) -> None:
        client: Any = Recorder()
        event = TicketNumberAssigned.of(create_ticket(), 42, STAMP)

        SNSPublisher(client, "topic").publish([Announcement(event, replayed)], plenty)

        documented = headers_of("TicketNumberAssigned")
        Draft202012Validator(documented).validate(client.headers())
        assert set(client.headers()) == set(documented["required"])

    @pytest.mark.parametrize("kind", errors.PoisonMessageError.__subclasses__())
    def test_dead_letter_has_the_documented_headers(
        self, kind: type[errors.PoisonMessageError]
    ) -> None:
        client: Any = Recorder()
        letter = DeadLetter(queue_record(), kind("title: " + "x" * 5_000))

        SQSDeadLetters(client, "queue").send([letter], plenty)

        documented = headers_of("PoisonMessage")
        Draft202012Validator(documented).validate(client.headers())
        assert set(client.headers()) == set(documented["required"])

    def test_dead_letter_headers_name_every_poison_error_and_no_other(self) -> None:
        """A transient error is never sent straight to the dead-letter queue."""
        kinds = errors.PoisonMessageError.__subclasses__()

        documented = headers_of("PoisonMessage")["properties"]["ErrorType"]["enum"]
        assert set(documented) == {kind.__name__ for kind in kinds}
