"""This release keeps version 1 of the contract, which `docs/schemas/version-1.json` is.

The models are the home of the contract, so no test of theirs sees an error in them.
The file is changed by hand only, when a release adds to the contract.
"""

import json
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, get_args

import pytest

from tests.support.cases import cases
from tests.support.sample_messages import VERSION_1, VERSION_1_REQUESTS, assigned_in
from tests.support.template_loader import source
from ticket_numbering.contract import errors
from ticket_numbering.contract.chain import chain_of, commitment_of
from ticket_numbering.contract.dynamodb_items import assignment
from ticket_numbering.contract.events import (
    RefusedRequest,
    TicketNumberAssigned,
    TicketRefused,
)
from ticket_numbering.contract.mark_events import TicketErased, TicketVoided
from ticket_numbering.contract.messages import CreateTicket, stored_fingerprint
from ticket_numbering.worker.observability import Metric
from ticket_numbering.worker.results import Result
from ticketctl.aws.items import serialized
from tools import contracts

Schema = Mapping[str, Any]

SCHEMA: Final = json.loads(
    (contracts.DIRECTORY / "schemas/create-ticket.schema.json").read_bytes()
)
FIELDS: Final = VERSION_1["fields"]
SAMPLES: Final = VERSION_1["samples"]
EVENTS: Final = VERSION_1["events"]

WIDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    **dict.fromkeys(("maxLength", "maxItems", "maxProperties", "maximum"), operator.ge),
    **dict.fromkeys(("minLength", "minItems", "minProperties", "minimum"), operator.le),
    "enum": lambda now, before: {*now} >= {*before},
}
"""Whether a rule allows every value that it allowed before."""
WORDS: Final = {"default", "description", "examples"}
"""The parts of a schema that refuse nothing."""


def same(now: Any, before: Any) -> bool:
    return bool(now == before)


def narrower(now: Schema, before: Schema) -> list[str]:
    """Return the rules of a schema that may forbid values that it allowed before."""
    kinds = now.get("anyOf", [now])
    return [
        problem
        for kind in before.get("anyOf", [before])
        for problem in min((_narrower(other, kind) for other in kinds), key=len)
    ]


def _narrower(now: Schema, before: Schema) -> list[str]:
    rules: list[str] = []
    for rule in sorted(now.keys() - WORDS):
        if rule not in before:
            rules.append(rule)
        elif isinstance(now[rule], Mapping):
            rules += [f"{rule}.{inner}" for inner in narrower(now[rule], before[rule])]
        elif not WIDER.get(rule, same)(now[rule], before[rule]):
            rules.append(rule)
    return rules


def published(event: Any) -> Any:
    return json.loads(event.model_dump_json(exclude_none=True))


class TestRequests:
    """A request of version 1 is accepted, and means the same."""

    @pytest.mark.parametrize("name", FIELDS)
    def test_field_keeps_its_default_and_allows_what_it_allowed(
        self, name: str
    ) -> None:
        now, before = SCHEMA["properties"][name], FIELDS[name]

        assert narrower(now, before) == []
        assert now.get("default", ...) == before.get("default", ...)

    def test_no_other_field_is_required(self) -> None:
        assert {*SCHEMA["required"]} <= {*VERSION_1["required"]}

    @pytest.mark.parametrize(("sample", "request_"), VERSION_1_REQUESTS)
    def test_fingerprint_of_a_request_never_changes(
        self, sample: Any, request_: Any
    ) -> None:
        """Else every repeat of it becomes poison. One request names every default."""
        request = CreateTicket.parse(json.dumps(request_))

        assert request.fingerprint == sample["record"]["fingerprint"]


class TestItems:
    """The items of version 1 are understood; the tests of the store write them."""

    @pytest.mark.parametrize("name", SAMPLES)
    def test_stored_items_are_read_as_they_were(self, name: str) -> None:
        sample = SAMPLES[name]
        ticket, record = sample["ticket"], sample["record"]
        covered = "project_id", "number", "idempotency_key", "assigned_at"

        fingerprint = stored_fingerprint(ticket)

        assert fingerprint == record["fingerprint"]
        assert assignment(serialized(record)) == assigned_in(sample)
        assert record["chain"] == chain_of(
            VERSION_1["previous"],
            commitment=commitment_of(ticket["salt"], fingerprint),
            **{name: ticket[name] for name in covered},
        )


ADDED: Final[Mapping[str, Mapping[str, Any]]] = {
    "ticket-numbering.TicketRefused.v1": {"reason": "cap_reached"}
}
"""By type: the members of `data` since version 1, with their values for these samples.

They go into the baseline with the next release.
"""


def filled(event: Any) -> Any:
    """Return an event of version 1 with the later fields, each value by hand.

    Else a subscriber could get the address of a reporter in place of the name.
    """
    return event | {"data": event["data"] | ADDED.get(event["type"], {})}


class TestEvents:
    """An event of version 1 has the content that it had; a subscriber may keep it."""

    @pytest.mark.parametrize(("sample", "request_"), VERSION_1_REQUESTS)
    def test_event_of_a_number_has_the_same_content(
        self, sample: Any, request_: Any
    ) -> None:
        event = TicketNumberAssigned.of(
            CreateTicket.parse(json.dumps(request_)),
            assigned_in(sample),
            source=sample["event"]["source"],
            padding=6,
        )

        assert published(event) == filled(sample["event"])

    @pytest.mark.parametrize("kind", [TicketVoided, TicketErased])
    def test_event_of_a_mark_has_the_same_content(
        self, kind: type[TicketVoided | TicketErased]
    ) -> None:
        ticket = SAMPLES["full"]["ticket"] | VERSION_1["marks"]
        before = EVENTS[kind.status]

        event = kind.of(ticket, source=before["source"])

        assert published(event) == filled(before)

    def test_event_of_a_refusal_has_the_same_content(self) -> None:
        before = EVENTS["refused"]
        refused = RefusedRequest(**filled(before)["data"])

        event = TicketRefused.of(refused, source=before["source"])

        assert published(event) == filled(before)


NAMES: Final[Mapping[str, Collection[str]]] = {
    "outcomes": {result.outcome for result in get_args(Result)},
    "messages": {result.message for result in get_args(Result)},
    "errors": vars(errors).keys(),
    "metrics": {*Metric},
    "parameters": source()["Parameters"].keys(),
    "outputs": source()["Outputs"].keys(),
}


@pytest.mark.parametrize("kind", VERSION_1["names"])
def test_name_of_version_1_stays(kind: str) -> None:
    """Alarms, queries, deployments and subscribers of others have it."""
    gone = {*VERSION_1["names"][kind]} - {*NAMES[kind]}
    assert not gone, "they are contract and stay: CONTRIBUTING.md, A rename"


TEXT: Final = {"type": "string", "maxLength": 4}


class TestComparison:
    """The comparison of two schemas lets a field grow, and nothing else."""

    @pytest.mark.parametrize(
        ("now", "before", "rules"),
        cases(
            {
                "same": (TEXT, TEXT, []),
                "wider": ({**TEXT, "maxLength": 5}, TEXT, []),
                "unbounded": ({"type": "string"}, TEXT, []),
                "nullable": ({"anyOf": [TEXT, {"type": "null"}]}, TEXT, []),
                "new-value": ({"enum": ["a", "b"]}, {"enum": ["a"]}, []),
                "other-words": ({**TEXT, "description": "Now"}, TEXT, []),
                "narrower": ({**TEXT, "maxLength": 3}, TEXT, ["maxLength"]),
                "higher": ({"minimum": 2}, {"minimum": 1}, ["minimum"]),
                "bounded": (TEXT, {"type": "string"}, ["maxLength"]),
                "lost-value": ({"enum": ["a"]}, {"enum": ["a", "b"]}, ["enum"]),
                "other-type": ({"type": "null"}, {"type": "string"}, ["type"]),
                "not-null": (TEXT, {"anyOf": [TEXT, {"type": "null"}]}, None),
                "inner": (
                    {"items": {**TEXT, "maxLength": 3}},
                    {"items": TEXT},
                    ["items.maxLength"],
                ),
            }
        ),
    )
    def test_rule_is_named_when_it_may_refuse_what_was_allowed(
        self, now: Schema, before: Schema, rules: list[str] | None
    ) -> None:
        named = narrower(now, before)

        assert named if rules is None else named == rules
