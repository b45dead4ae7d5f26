"""Updates of single items on the model."""

import pytest

from simulation.aws.errors import ServiceError
from simulation.aws.items import Item, updated


@pytest.mark.parametrize("item", [{}, None])
def test_counter_starts_at_zero_when_there_is_none(item: Item | None) -> None:
    request = {
        "UpdateExpression": "ADD last :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    assert updated(request, item) == {"last": {"N": "1"}}


@pytest.mark.parametrize(
    "expression", ["SET a = a + :one", "REMOVE a", "REMOVE a SET b = :one"]
)
def test_update_is_refused_when_it_is_not_modelled(expression: str) -> None:
    request = {
        "UpdateExpression": expression,
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    with pytest.raises(ServiceError, match="not modelled"):
        updated(request, None)
