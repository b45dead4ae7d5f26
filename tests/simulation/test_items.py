"""Conditions and updates of the known-bad and the compared algorithms."""

import pytest

from simulation.aws.items import Item, holds, updated
from simulation.aws.service import ServiceError
from tests.support.cases import cases

# Of Powertools, to begin a request that is not in progress.
POWERTOOLS = {
    "ConditionExpression": (
        "attribute_not_exists(#id) OR #expiry < :now OR (#status = :inprogress AND"
        " attribute_exists(#in_progress_expiry) AND"
        " #in_progress_expiry < :now_in_millis)"
    ),
    "ExpressionAttributeNames": {
        "#id": "id",
        "#expiry": "expiration",
        "#in_progress_expiry": "in_progress_expiration",
        "#status": "status",
    },
    "ExpressionAttributeValues": {
        ":now": {"N": "100"},
        ":now_in_millis": {"N": "100000"},
        ":inprogress": {"S": "INPROGRESS"},
    },
}


def record(status: str, expiry: int, in_progress: int | None = None) -> Item:
    """Return an idempotency record of Powertools."""
    item = {
        "id": {"S": "key"},
        "status": {"S": status},
        "expiration": {"N": str(expiry)},
    }
    if in_progress is not None:
        item["in_progress_expiration"] = {"N": str(in_progress)}
    return item


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

    @pytest.mark.parametrize(
        ("item", "expected"),
        cases(
            {
                "new": (None, True),
                "done": (record("COMPLETED", 101), False),
                "expired": (record("COMPLETED", 99), True),
                "in progress": (record("INPROGRESS", 101, 100_001), False),
                "in progress too long": (record("INPROGRESS", 101, 99_999), True),
                "in progress without an end": (record("INPROGRESS", 101), False),
                "done in time": (record("COMPLETED", 101, 99_999), False),
            }
        ),
    )
    def test_powertools_condition_holds_when_the_request_is_not_in_progress(
        self, item: Item | None, *, expected: bool
    ) -> None:
        assert holds(POWERTOOLS, item) is expected


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
        assert updated(request, record("INPROGRESS", 1)) == {
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

    @pytest.mark.parametrize(
        "expression", ["SET a = a + :one", "REMOVE a", "SET a = :one REMOVE b"]
    )
    def test_update_is_refused_when_it_is_not_modelled(self, expression: str) -> None:
        request = {
            "UpdateExpression": expression,
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        with pytest.raises(ServiceError, match="not modelled"):
            updated(request, None)
