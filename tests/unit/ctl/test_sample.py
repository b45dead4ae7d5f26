"""Messages to try things with: as many as asked for, and as good or bad."""

import json
from pathlib import Path

import pytest

from simulation.scenarios.requests import VERSION_1, validator
from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.cli.errors import InputError
from ticketctl.verify.sample import many_messages, read_messages, sample_messages


def request_of(body: str) -> CreateTicket | None:
    try:
        return CreateTicket.parse(body)
    except PoisonMessageError:
        return None


@pytest.mark.parametrize("number", [1, 30])
def test_sample_has_tickets_repeats_a_reused_key_a_reached_cap_and_poison(
    number: int,
) -> None:
    messages = sample_messages(number, ["A", "B"])

    first = [request_of(body) for body in messages.first]
    requests = {request.key: request for request in first if request}
    *repeats, reused, late = messages.later
    other = CreateTicket.parse(reused)
    assert len(requests) == number
    assert {key.project_id for key in requests} <= {"A", "B"}
    assert None in first
    assert repeats
    assert set(repeats) <= set(messages.first)
    assert requests[other.key].title != other.title
    capped = CreateTicket.parse(late)
    assert not capped.accepts(2)
    assert capped.key not in requests
    assert capped.project_id in {key.project_id for key in requests}


def test_sample_is_of_version_1() -> None:
    """The worker that `ticketctl verify` asks can be older than the command."""
    version_1 = validator({"properties": VERSION_1, "additionalProperties": False})
    messages = sample_messages()

    for body in (*messages.first, *messages.later):
        if request_of(body):
            version_1.validate(json.loads(body))


@pytest.mark.parametrize(("number", "poison"), [(1, 0), (1000, 0), (100, 1), (100, 10)])
def test_messages_have_as_much_poison_as_is_asked_for(number: int, poison: int) -> None:
    bodies = [*many_messages(number, poison)]

    first: dict[str, str] = {}
    bad = 0
    for body in bodies:
        key = json.loads(body)["idempotency_key"]
        bad += not request_of(body) or first.setdefault(key, body) != body
    assert (len(bodies), bad) == (number, poison)


def test_poison_has_keys_of_its_own_when_it_is_fixed() -> None:
    """Only the mistake that is a reused key has another ticket's."""
    keys = [json.loads(body)["idempotency_key"] for body in many_messages(9, 9)]

    own = [key for key in keys if key != "web-form-0001"]
    assert (len(own), len({*own})) == (6, 6)


class TestFileOfMessages:
    """The messages of a file for `run`; the worker decides whether one is a ticket."""

    def test_messages_may_be_no_valid_tickets(self, tmp_path: Path) -> None:
        path = tmp_path / "my.jsonl"
        path.write_text('{"title": "t\u2028"}\n\n{}\n')

        assert read_messages(path) == ['{"title":"t\u2028"}', "{}"]

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            ('{"a": "b"}\n\n{"b": \n', "my.jsonl:3: body: not JSON"),
            ("1", "my.jsonl: not lines of JSON"),
            ("\n", "my.jsonl: holds no message"),
        ],
    )
    def test_file_is_refused_when_a_line_is_no_object(
        self, tmp_path: Path, content: str, why: str
    ) -> None:
        path = tmp_path / "my.jsonl"
        path.write_text(content)

        with pytest.raises(InputError, match=why):
            read_messages(path)
