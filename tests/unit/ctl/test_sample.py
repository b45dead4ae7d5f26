"""The messages to try things with: as many as asked for, and as good or bad."""

import json

import pytest

from ticket_numbering.errors import PoisonMessageError
from ticket_numbering.messages import CreateTicket
from ticketctl.local.sample import many_messages


def is_valid(body: str) -> bool:
    """Tell whether the worker takes a message by itself."""
    try:
        CreateTicket.parse(body)
    except PoisonMessageError:
        return False
    return True


class TestManyMessages:
    """What a newcomer sends."""

    @pytest.mark.parametrize("number", [1, 7, 1000])
    def test_sample_is_valid_and_its_keys_differ_when_no_poison_is_asked_for(
        self, number: int
    ) -> None:
        """Each line is one ticket."""
        bodies = [*many_messages(number)]

        assert len(bodies) == number
        assert all(is_valid(each) for each in bodies)
        assert len({CreateTicket.parse(each).key for each in bodies}) == number

    @pytest.mark.parametrize("poison", [1, 3, 10])
    def test_sample_has_so_much_poison_as_is_asked_for(self, poison: int) -> None:
        """Not JSON a person could not read: each holds a mistake that can be mended."""
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

    def test_sample_is_all_poison_when_that_is_asked_for(self) -> None:
        """More poison than places leaves no good one."""
        assert len([*many_messages(3, 3)]) == 3
