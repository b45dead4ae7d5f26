"""The laboratory reads requests by itself, and as the worker does."""

import json
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.checks import monitor
from simulation.scenarios import producers, requests
from tests.support.builders import ticket_fields
from tests.support.fuzzing import BODIES, BODY_LIMIT, LARGE_BODIES, sized
from tests.support.sample_messages import SAMPLES, refused
from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.events import COPIED
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.contract.reasons import Reason
from tools import events

SAMPLE_BODIES = [
    json.dumps(ticket_fields("PROJ", "k") | {name: value})
    for name, samples in SAMPLES.items()
    for value in [*samples.accepted, *refused(name)]
]
EVENT_BODIES = [
    record["body"]
    for path in sorted(events.DIRECTORY.iterdir())
    for record in json.loads(path.read_bytes())["Records"]
]

LONG = "x" * 100_000
SEVERAL: Mapping[str, Sequence[Any]] = {
    "project_id": ["\ud800" * 65, "#" * 65],
    "title": [f"\ud800{LONG}", f"\n{LONG}"],
    "max_number": ["\ud800", -0.5, 1e300 + 0.5],
    "priority": [7, "\ud800"],
    "labels": [
        [7] * 21,
        ["a", 7] * 20,
        [7, LONG, "", "\n", "\ud800"],
        [LONG, ""],
        [["\ud800"]],
    ],
    "attributes": [
        dict.fromkeys(map(str, range(51)), 7),
        {LONG: 7, "": "\ud800"},
        {LONG: "\x00", "": LONG},
    ],
}
"""Values with several faults."""
SEVERAL_BODIES = [
    json.dumps(ticket_fields() | fields)
    for name, values in SEVERAL.items()
    for value in values
    for fields in ({name: value}, {name: value, "other": 1}, {"labels": 7, name: value})
] + [
    json.dumps(fields)
    for fields in (
        {"title": "", "other": 1},
        ticket_fields(title="") | {"\ud800": 1},
        ticket_fields(title="", specversion="1.0", type="t"),
        {"Type": "t", "TopicArn": "t", "\ud800": 1},
    )
]


def check(body: str) -> None:
    """Check that both accept or refuse a body, under the same key, and why."""
    assert requests.key_of(body) == CreateTicket.key_of(body)
    parsed, request = requests.parse(body), judged(body)
    if isinstance(request, CreateTicket):
        assert parsed
        assert parsed.id == request.key
        assert parsed.cap == (request.max_number or inf)
        assert requests.fault_of(body) is None
    else:
        assert parsed is None
        assert requests.fault_of(body) == request


def judged(body: str) -> CreateTicket | requests.Fault:
    """Return the request, or the field and the reason that the worker names."""
    try:
        return CreateTicket.parse(body)
    except PoisonMessageError as error:
        return error.field, error.reason


def test_laboratory_sends_poison_that_a_new_value_or_field_has_not_made_valid() -> None:
    for body in producers.POISON:
        check(body)
        assert requests.parse(body) is None


def test_laboratory_reads_the_samples_and_the_events_as_the_worker_does() -> None:
    largest = [sized(BODY_LIMIT + beyond, " ") for beyond in (0, 1)]

    for body in [*SAMPLE_BODIES, *EVENT_BODIES, *SEVERAL_BODIES, *largest]:
        check(body)


def test_each_reason_is_that_of_a_body_or_of_what_the_stack_knows() -> None:
    bodies = [*SAMPLE_BODIES, *EVENT_BODIES, *SEVERAL_BODIES, '{"Type":1,"TopicArn":1}']
    of_bodies = {fault[1] for fault in map(requests.fault_of, bodies) if fault}

    assert {*Reason} - of_bodies == {
        *(Reason.NOT_ALLOWED, Reason.KEY_REUSED, Reason.CAP_REACHED)
    }


@given(BODIES | LARGE_BODIES | st.sampled_from(SAMPLE_BODIES).map("\ufeff{}".format))
def test_laboratory_reads_any_body_as_the_worker_does(body: str) -> None:
    check(body)


@pytest.mark.parametrize("name", producers.VALUES)
def test_laboratory_draws_values_that_make_another_request(name: str) -> None:
    """Else it sends no request with the field, and none that differs in it alone."""
    drawn = producers.others(name, requests.OPTIONAL.get(name))

    assert len(drawn) > 1, f"{name} lacks examples in contract/messages.py"
    for value in drawn:
        CreateTicket.parse(json.dumps(ticket_fields() | {name: value}))


def test_laboratory_expects_the_fields_that_an_announcement_repeats() -> None:
    assert {*monitor.COPIED_FIELDS} == COPIED
