"""The messages to try things with: as many as asked for, and as good or bad."""

import json

import pytest

from ticket_numbering.errors import PoisonMessageError
from ticket_numbering.messages import CreateTicket
from ticketctl.verify.sample import many_messages, sample_messages


def is_valid(body: str) -> bool:
    """Tell whether the worker takes a message by itself."""
    try:
        CreateTicket.parse(body)
    except PoisonMessageError:
        return False
    return True


class TestSample:
    """All that a queue sees, in projects of one's choice."""

    @pytest.mark.parametrize("number", [1, 30])
    def test_sample_has_so_many_tickets_of_the_projects(self, number: int) -> None:
        messages = sample_messages(number, ["A", "B"])

        requests = [
            CreateTicket.parse(each) for each in messages.first if is_valid(each)
        ]
        assert len({request.key for request in requests}) == number
        assert {request.project_id for request in requests} <= {"A", "B"}

    def test_sample_has_poison_repeats_and_a_key_that_is_used_again(self) -> None:
        messages = sample_messages(30)

        keys = {
            CreateTicket.parse(each).key for each in messages.first if is_valid(each)
        }
        *repeats, reused = messages.later
        assert not all(map(is_valid, messages.first))
        assert repeats
        assert set(repeats) <= set(messages.first)
        assert reused not in messages.first
        assert CreateTicket.parse(reused).key in keys


class TestManyMessages:
    """What a newcomer sends."""

    @pytest.mark.parametrize("number", [1, 7, 1000])
    def test_messages_are_valid_and_their_keys_differ_when_no_poison_is_asked_for(
        self, number: int
    ) -> None:
        bodies = [*many_messages(number)]

        assert len(bodies) == number
        assert len({CreateTicket.parse(each).key for each in bodies}) == number

    @pytest.mark.parametrize("poison", [1, 3, 10])
    def test_messages_have_so_much_poison_as_is_asked_for(self, poison: int) -> None:
        bodies = [*many_messages(100, poison)]

        seen: dict[tuple[str, str], str] = {}
        bad = 0
        for body in bodies:
            fields = json.loads(body)
            key = fields["project_id"], fields["idempotency_key"]
            bad += not is_valid(body) or seen.setdefault(key, body) != body
        assert len(bodies) == 100
        assert bad == poison

    def test_poison_has_a_key_for_each_ticket_when_it_is_mended(self) -> None:
        """Only the mistake that is a reused key is one."""
        bodies = map(json.loads, many_messages(9, 9))
        keys = [each["idempotency_key"] for each in bodies]

        own = [each for each in keys if each != "web-form-0001"]
        assert (len(own), len({*own})) == (6, 6)
