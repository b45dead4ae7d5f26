"""Updates and sizes of single items on the model."""

import pytest

from simulation.aws.errors import ServiceError
from simulation.aws.items import Value, size_of, updated


@pytest.mark.parametrize(
    "expression", ["SET a = a + :one", "DELETE a :one", "SET b = :one, DELETE a :one"]
)
def test_update_is_refused_when_it_is_not_modelled(expression: str) -> None:
    request = {
        "UpdateExpression": expression,
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    with pytest.raises(ServiceError, match="not modelled"):
        updated(request, None)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "\u00e9"}, 2),
        ({"L": [{"S": "ab"}, {"S": "c"}]}, 3 + 2 + 1 + 2),
        ({"M": {"k": {"S": "ab"}}}, 3 + 1 + 2 + 1),
    ],
)
def test_size_is_that_of_the_guide_when_values_are_nested(
    value: Value, size: int
) -> None:
    """DynamoDB guide, "Item sizes and formats": 3 bytes, and 1 for each element."""
    assert size_of({"a": value}) == len("a") + size
