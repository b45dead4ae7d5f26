"""What TransactWriteItems refuses, as its API reference documents it."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.cases import cases
from tests.integration.conformance import DONE, Backend, OnEveryBackend, fate
from tests.integration.test_conformance_transactions import (
    CANCELLED,
    Action,
    put_key,
    put_ticket,
    write,
    written,
)

INVALID = "ValidationException"
REFUSED = "refused"


def sized(backend: Backend, count: int, kilobytes: int) -> list[Action]:
    """Return puts that are so large, each into a partition of its own."""
    text = "x" * kilobytes * 1024
    return [put_key(backend, f"key-{each}", text) for each in range(count)]


def verdict(call: str, actions: Sequence[Action]) -> str:
    """Take both documented forms for one: with reasons, or without.

    The reference lists "a user error, such as an invalid data format", an item that
    is too large and two actions on one item among the causes of a cancellation, too.
    """
    innocent = ["None"] * (len(actions) - 1)
    with_reasons = " ".join([CANCELLED, *innocent, "ValidationError"])
    return REFUSED if call in {INVALID, with_reasons} else call


class TestLimits(OnEveryBackend):
    """What is refused before anything is tried."""

    def test_transaction_is_done_when_it_has_a_hundred_actions(
        self, backend: Backend
    ) -> None:
        """The reference: "groups up to 100 action requests"."""
        actions = [put_ticket(backend, each) for each in range(1, 101)]

        write(backend, *actions)

        assert len(written(backend)) == 100

    def test_transaction_is_refused_when_it_has_more_actions(
        self, backend: Backend
    ) -> None:
        """No reasons: nothing was tried."""
        actions = [put_ticket(backend, each) for each in range(1, 102)]

        assert fate(lambda: write(backend, *actions)) == backend.expected(INVALID)
        assert written(backend) == []

    @pytest.mark.parametrize("kind", ["Put", "ConditionCheck", "Delete"])
    def test_transaction_is_refused_when_two_actions_have_one_item(
        self, backend: Backend, kind: str
    ) -> None:
        """Whatever they do to it: "no two actions can target the same item"."""
        put = put_key(backend, "a")
        other = {
            "TableName": backend.keys,
            "Key": {"id": {"S": "a"}},
            "ConditionExpression": "attribute_not_exists(id)",
        }
        second = put_key(backend, "a", "other") if kind == "Put" else {kind: other}

        seen = fate(lambda: write(backend, put_ticket(backend, 1), put, second))

        assert seen == backend.expected(INVALID)
        assert written(backend) == []

    def test_transaction_is_done_when_it_has_almost_four_megabytes(
        self, backend: Backend
    ) -> None:
        """Ten items of 390 KB."""
        assert fate(lambda: write(backend, *sized(backend, 10, 390))) == DONE

    def test_transaction_is_refused_when_it_has_more_than_four_megabytes(
        self, backend: Backend
    ) -> None:
        """The reference: "the aggregate size of the items ... cannot exceed 4 MB"."""
        actions = [put_key(backend, "a"), *sized(backend, 11, 390)]

        seen = fate(lambda: write(backend, *actions))

        there = written(backend)
        assert (seen, there) == backend.expected((INVALID, []))

    @pytest.mark.parametrize(
        "item",
        cases(
            {
                "large": {"id": {"S": "b"}, "text": {"S": "x" * 400 * 1024}},
                "empty": {"id": {"S": ""}},
                "type": {"id": {"N": "7"}},
                "keyless": {"text": {"S": "no key"}},
            }
        ),
    )
    def test_transaction_is_refused_when_no_table_can_hold_an_item(
        self, backend: Backend, item: dict[str, Any]
    ) -> None:
        """One such item, and its neighbours are not written either."""
        actions = [put_ticket(backend, 1), put_key(backend, "a", Item=item)]

        seen = verdict(fate(lambda: write(backend, *actions)), actions)

        there = written(backend)
        assert (seen, there) == backend.expected((REFUSED, []))

    def test_transaction_is_refused_when_there_is_no_table(
        self, backend: Backend
    ) -> None:
        """The reference lists ResourceNotFoundException among the errors."""
        nowhere = put_key(backend, "a", TableName="no-such-table")

        seen = fate(lambda: write(backend, put_ticket(backend, 1), nowhere))

        assert seen == backend.expected("ResourceNotFoundException")
        assert written(backend) == []
