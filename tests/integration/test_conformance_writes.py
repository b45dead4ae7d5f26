"""Single writes of DynamoDB, as its API reference documents them."""

from typing import Any

import pytest

from tests.integration.test_conformance_reads import (
    INVALID,
    NO_TABLE,
    add_key,
    read_key,
)
from tests.support.cases import cases
from tests.support.conformance import DONE, Backend, OnEveryBackend, fate

FAILED = "ConditionalCheckFailedException"
TOO_LARGE = "x" * 400 * 1024


def put(backend: Backend, item: Any, table: str = "", **more: Any) -> str:
    """Put an item; tell how it ended."""
    put_item, where = backend.dynamodb.put_item, table or backend.keys
    return fate(lambda: put_item(TableName=where, Item=item, **more))


class TestPutItem(OnEveryBackend):
    """PutItem API reference."""

    def test_put_item_replaces_when_there_is_no_condition(
        self, backend: Backend
    ) -> None:
        """The new item replaces the old one completely."""
        add_key(backend)

        assert put(backend, {"id": {"S": "order-7"}}) == DONE
        assert read_key(backend) == {"id": {"S": "order-7"}}

    @pytest.mark.parametrize("wanted", ["ALL_OLD", "NONE", None])
    def test_put_item_shows_the_old_item_when_it_is_asked_to(
        self, backend: Backend, wanted: str | None
    ) -> None:
        """A failed condition changes nothing, and shows the item for ALL_OLD alone."""
        item = add_key(backend)
        ask = {"ReturnValuesOnConditionCheckFailure": wanted} if wanted else {}

        with pytest.raises(
            backend.dynamodb.exceptions.ConditionalCheckFailedException
        ) as raised:
            backend.dynamodb.put_item(
                TableName=backend.keys,
                Item={"id": {"S": "order-7"}},
                ConditionExpression="attribute_not_exists(id)",
                **ask,
            )

        shown = raised.value.response.get("Item")
        assert shown == backend.expected(item if wanted == "ALL_OLD" else None)
        assert read_key(backend) == item

    @pytest.mark.parametrize(
        "item",
        cases(
            {
                "large": {"id": {"S": "order-7"}, "text": {"S": TOO_LARGE}},
                "empty": {"id": {"S": ""}},
                "type": {"id": {"N": "7"}},
                "keyless": {"text": {"S": "no key"}},
            }
        ),
    )
    def test_put_item_is_refused_when_no_table_can_hold_it(
        self, backend: Backend, item: dict[str, Any]
    ) -> None:
        """An item has its key, of its type, not empty, and at most 400 KB."""
        assert put(backend, item) == backend.expected(INVALID)

    def test_put_item_is_refused_when_there_is_no_table(self, backend: Backend) -> None:
        """Tables are not made by writing to them."""
        item = {"id": {"S": "order-7"}}

        assert put(backend, item, "no-such-table") == backend.expected(NO_TABLE)


class TestUpdateItem(OnEveryBackend):
    """UpdateItem API reference; the worker has no right to it, wrong ways use it."""

    def add_one(self, backend: Backend, returned: str | None) -> Any:
        """Count in an item, which need not exist."""
        return backend.dynamodb.update_item(
            TableName=backend.keys,
            Key={"id": {"S": "counter"}},
            UpdateExpression="ADD #last :one",
            ExpressionAttributeNames={"#last": "last"},
            ExpressionAttributeValues={":one": {"N": "1"}},
            **({"ReturnValues": returned} if returned else {}),
        )

    def test_update_item_adds_from_nought_when_there_is_no_item(
        self, backend: Backend
    ) -> None:
        """ADD creates the item, and the attribute as if it had been 0."""
        self.add_one(backend, None)
        self.add_one(backend, None)

        assert read_key(backend, "counter") == {
            "id": {"S": "counter"},
            "last": {"N": "2"},
        }

    @pytest.mark.parametrize(
        ("returned", "documented"),
        cases(
            {
                "nothing": (None, None),
                "updated": ("UPDATED_NEW", {"last": {"N": "1"}}),
                "all": ("ALL_NEW", {"id": {"S": "counter"}, "last": {"N": "1"}}),
            }
        ),
    )
    def test_update_item_shows_what_it_is_asked_for(
        self, backend: Backend, returned: str | None, documented: Any
    ) -> None:
        """Nothing by default, the updated attributes, or all."""
        answer = self.add_one(backend, returned)

        assert answer.get("Attributes") == backend.expected(documented)


class TestDeleteItem(OnEveryBackend):
    """DeleteItem API reference; the worker has no right to it, wrong ways use it."""

    def delete(self, backend: Backend, **more: str) -> str:
        """Delete a key's record; tell how it ended."""
        key = {"id": {"S": "order-7"}}
        delete_item = backend.dynamodb.delete_item
        return fate(lambda: delete_item(TableName=backend.keys, Key=key, **more))

    def test_delete_item_is_done_when_there_is_nothing(self, backend: Backend) -> None:
        """It is idempotent without a condition."""
        add_key(backend)

        assert [self.delete(backend), self.delete(backend)] == [DONE, DONE]
        assert read_key(backend) is None

    def test_delete_item_fails_when_its_condition_does(self, backend: Backend) -> None:
        """What is not there fulfils no condition."""
        condition = "attribute_exists(id)"

        assert self.delete(backend, ConditionExpression=condition) == FAILED
