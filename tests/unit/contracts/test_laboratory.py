"""The laboratory reads requests by itself, and as the worker does."""

import json
from math import inf

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


def check(body: str) -> None:
    """Check that both accept or refuse a body, under the same key."""
    assert requests.key_of(body) == CreateTicket.key_of(body)
    found = requests.parse(body)
    try:
        request = CreateTicket.parse(body)
    except PoisonMessageError:
        assert found is None
    else:
        assert found
        assert found.id == request.key
        assert found.cap == (request.max_number or inf)


def test_laboratory_sends_poison_that_a_new_value_or_field_has_not_made_valid() -> None:
    for body in producers.POISON:
        check(body)
        assert requests.parse(body) is None


def test_laboratory_reads_the_samples_and_the_events_as_the_worker_does() -> None:
    largest = [sized(BODY_LIMIT + beyond, " ") for beyond in (0, 1)]

    for body in [*SAMPLE_BODIES, *EVENT_BODIES, *largest]:
        check(body)


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
