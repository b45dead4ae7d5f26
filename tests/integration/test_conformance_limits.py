"""What TransactWriteItems refuses, as documented and, mostly, as observed."""

from typing import Any

import pytest

from tests.integration.test_conformance_transactions import (
    CANCELLED,
    Action,
    put_key,
    put_ticket,
    write,
    written,
)
from tests.support.cases import cases
from tests.support.conformance import DONE, Backend, OnEveryBackend, fate

INVALID = "ValidationException"
MAX_ITEM_BYTES = 400 * 1024
MISMATCH = f"{CANCELLED} None ValidationError"


def large_puts(backend: Backend, count: int) -> list[Action]:
    """Return puts of 350,000 bytes, each into a partition of its own."""
    text = "x" * 350_000
    return [put_key(backend, f"key-{number}", text) for number in range(count)]


def item_of(size: int) -> dict[str, Any]:
    """Return an item of so many bytes, two of which are the number's."""
    other = len("id" + "b" + "count" + "text") + 2
    text = "x" * (size - other)
    return {"id": {"S": "b"}, "count": {"N": "100"}, "text": {"S": text}}


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
        """3.5 million bytes."""
        assert fate(lambda: write(backend, *large_puts(backend, 10))) == DONE

    def test_transaction_is_refused_when_it_has_more_than_four_megabytes(
        self, backend: Backend
    ) -> None:
        """4.2 million bytes, which are a little more than 4 MiB."""
        actions = [put_key(backend, "a"), *large_puts(backend, 12)]

        seen = fate(lambda: write(backend, *actions))

        there = written(backend)
        assert (seen, there) == backend.expected((INVALID, []))

    def test_transaction_takes_an_item_when_it_has_400_kilobytes_to_the_byte(
        self, backend: Backend
    ) -> None:
        """Zeros at the end of a number take no room."""
        action = put_key(backend, "b", Item=item_of(MAX_ITEM_BYTES))

        assert fate(lambda: write(backend, action)) == backend.expected(DONE)

    @pytest.mark.parametrize(
        ("item", "answer"),
        cases(
            {
                "large": (item_of(MAX_ITEM_BYTES + 1), INVALID),
                "empty": ({"id": {"S": ""}}, INVALID),
                "type": ({"id": {"N": "7"}}, MISMATCH),
                "keyless": ({"text": {"S": "no key"}}, MISMATCH),
            }
        ),
    )
    def test_transaction_is_refused_when_no_table_can_hold_an_item(
        self, backend: Backend, item: dict[str, Any], answer: str
    ) -> None:
        """What the request itself shows has no reasons; what the schema shows has."""
        invalid = put_key(backend, "a", Item=item)

        seen = fate(lambda: write(backend, put_ticket(backend, 1), invalid))

        there = written(backend)
        assert (seen, there) == backend.expected((answer, []))

    def test_transaction_is_refused_when_there_is_no_table(
        self, backend: Backend
    ) -> None:
        """The reference lists ResourceNotFoundException among the errors."""
        nowhere = put_key(backend, "a", TableName="no-such-table")

        seen = fate(lambda: write(backend, put_ticket(backend, 1), nowhere))

        assert seen == backend.expected("ResourceNotFoundException")
        assert written(backend) == []
