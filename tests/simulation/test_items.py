"""Conditions and updates of the known-bad and the compared algorithms."""

import pytest

from simulation.aws.errors import ServiceError
from simulation.aws.items import Item, holds, updated
from tests.support.cases import cases


class TestConditions:
    """Conditions of single writes."""

    @pytest.mark.parametrize(
        ("item", "expected"),
        cases(
            {
                "the same": ({"last_number": {"N": "4"}}, True),
                "another": ({"last_number": {"N": "5"}}, False),
                "of another type": ({"last_number": {"S": "4"}}, False),
                "without it": ({"id": {"S": "P"}}, False),
                "no item": (None, False),
            }
        ),
    )
    def test_equality_holds_when_the_attribute_is_the_same(
        self, item: Item | None, *, expected: bool
    ) -> None:
        request = {
            "ConditionExpression": "last_number = :last",
            "ExpressionAttributeValues": {":last": {"N": "4"}},
        }
        assert holds(request, item) is expected
        assert holds({}, item)


class TestUpdates:
    """Attributes that are set, and counters that are incremented."""

    def test_attributes_are_set_when_there_are_several(self) -> None:
        request = {
            "UpdateExpression": "SET #data = :data, expiration = :expiry, #s = :status",
            "ExpressionAttributeNames": {"#data": "data", "#s": "status"},
            "ExpressionAttributeValues": {
                ":data": {"S": "7"},
                ":expiry": {"N": "101"},
                ":status": {"S": "COMPLETED"},
            },
        }
        assert updated(request, {"id": {"S": "key"}, "expiration": {"N": "1"}}) == {
            "data": {"S": "7"},
            "expiration": {"N": "101"},
            "status": {"S": "COMPLETED"},
        }

    @pytest.mark.parametrize(
        ("item", "last"), [({}, "1"), (None, "1"), ({"last": {"N": "41"}}, "42")]
    )
    def test_every_counter_is_incremented_when_added_to(
        self, item: Item | None, last: str
    ) -> None:
        request = {
            "UpdateExpression": "ADD last :one, #t :two",
            "ExpressionAttributeNames": {"#t": "total"},
            "ExpressionAttributeValues": {":one": {"N": "1"}, ":two": {"N": "2"}},
        }
        changed = {"last": {"N": last}, "total": {"N": "2"}}
        assert updated(request, item) == changed

    def test_attributes_are_removed_when_others_are_set(self) -> None:
        request = {
            "UpdateExpression": "SET #s = :status REMOVE #t, labels",
            "ExpressionAttributeNames": {"#s": "status", "#t": "title"},
            "ExpressionAttributeValues": {":status": {"S": "erased"}},
        }
        assert updated(request, {"title": {"S": "Door"}}) == {
            "status": {"S": "erased"},
            "title": None,
            "labels": None,
        }

    @pytest.mark.parametrize(
        "expression", ["SET a = a + :one", "REMOVE a", "REMOVE a SET b = :one"]
    )
    def test_update_is_refused_when_it_is_not_modelled(self, expression: str) -> None:
        request = {
            "UpdateExpression": expression,
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        with pytest.raises(ServiceError, match="not modelled"):
            updated(request, None)
