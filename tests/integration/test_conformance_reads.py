"""Reads of DynamoDB, as its API reference documents them."""

from typing import Any

import pytest

from tests.support.cases import cases
from tests.support.conformance import Backend, OnEveryBackend, fate

INVALID = "ValidationException"
NO_TABLE = "ResourceNotFoundException"


def ticket(number: int, project: str = "PROJ", **more: str) -> dict[str, Any]:
    """Return a ticket's item."""
    key = {"project_id": {"S": project}, "number": {"N": str(number)}}
    return key | {name: {"S": value} for name, value in more.items()}


def add_tickets(backend: Backend, *numbers: int, project: str = "PROJ") -> None:
    """Put tickets."""
    for number in numbers:
        item = ticket(number, project, title=f"the {number}th")
        backend.dynamodb.put_item(TableName=backend.tickets, Item=item)


def add_key(backend: Backend, name: str = "order-7") -> dict[str, Any]:
    """Put the record of a key."""
    item = {"id": {"S": name}, "number": {"N": "7"}, "at": {"S": "then"}}
    backend.dynamodb.put_item(TableName=backend.keys, Item=item)
    return item


def query(backend: Backend, project: Any = "PROJ", **more: Any) -> list[Any]:
    """Query a project, consistently."""
    value = {"S": project} if isinstance(project, str) else project
    answer = backend.dynamodb.query(
        TableName=more.pop("table", backend.tickets),
        KeyConditionExpression="project_id = :project",
        ExpressionAttributeValues={":project": value},
        ConsistentRead=True,
        **more,
    )
    items: list[Any] = answer["Items"]
    return items


def read_key(backend: Backend, name: str = "order-7") -> Any:
    """Return the record of a key; None if there is none."""
    return backend.dynamodb.get_item(
        TableName=backend.keys, Key={"id": {"S": name}}, ConsistentRead=True
    ).get("Item")


class TestQuery(OnEveryBackend):
    """Query API reference; developer guide, "Querying tables"."""

    def test_query_finds_the_highest_number_when_descending(
        self, backend: Backend
    ) -> None:
        """Sort keys of type N are ordered as numbers: ten comes after nine."""
        add_tickets(backend, 1, 9, 10, 11, 2)

        found = query(backend, ScanIndexForward=False, Limit=1)

        assert found == [ticket(11, title="the 11th")]

    def test_query_answers_in_order_when_ascending(self, backend: Backend) -> None:
        """The order is ascending by default."""
        add_tickets(backend, 100, 9, 10, 1, 99, 2)

        numbers = [int(each["number"]["N"]) for each in query(backend)]

        assert numbers == [1, 2, 9, 10, 99, 100]

    def test_query_answers_only_what_is_projected(self, backend: Backend) -> None:
        """A ProjectionExpression names what is returned, by placeholder or not."""
        add_tickets(backend, 1)

        found = query(
            backend,
            ProjectionExpression="#number, project_id, nowhere",
            ExpressionAttributeNames={"#number": "number"},
        )

        assert found == [ticket(1)]

    def test_query_is_refused_when_a_reserved_word_is_projected(
        self, backend: Backend
    ) -> None:
        """Developer guide, "Reserved words in DynamoDB"."""
        seen = fate(lambda: query(backend, ProjectionExpression="number"))

        assert seen == backend.expected(INVALID)

    def test_query_answers_nothing_when_the_partition_is_empty(
        self, backend: Backend
    ) -> None:
        """No match is an empty list, and no error."""
        add_tickets(backend, 1, project="OTHER")

        assert query(backend) == []

    @pytest.mark.parametrize(
        ("project", "table", "documented"),
        cases(
            {
                "empty": ("", None, INVALID),
                "number": ({"N": "7"}, None, INVALID),
                "nowhere": ("PROJ", "no-such-table", NO_TABLE),
            }
        ),
    )
    def test_query_is_refused_when_its_key_cannot_be(
        self, backend: Backend, project: Any, table: str | None, documented: str
    ) -> None:
        """Key values are of the key's type and not empty; a table exists."""
        where = table or backend.tickets

        assert fate(lambda: query(backend, project, table=where)) == (
            backend.expected(documented)
        )


def batch_get(backend: Backend, *names: str) -> Any:
    """Read records of keys, consistently."""
    wanted = {"Keys": [{"id": {"S": each}} for each in names], "ConsistentRead": True}
    return backend.dynamodb.batch_get_item(RequestItems={backend.keys: wanted})


class TestBatchGetItem(OnEveryBackend):
    """BatchGetItem API reference."""

    def test_batch_get_item_leaves_out_what_does_not_exist(
        self, backend: Backend
    ) -> None:
        """A missing item is not returned; the others are, whole, in any order."""
        items = [add_key(backend, name) for name in ("a", "b")]

        answer = batch_get(backend, "missing", "b", "a")

        found = answer["Responses"][backend.keys]
        assert sorted(found, key=lambda item: item["id"]["S"]) == items
        assert answer["UnprocessedKeys"] == {}

    def test_batch_get_item_takes_a_hundred_keys(self, backend: Backend) -> None:
        """The most that one call takes."""
        item = add_key(backend, "key-99")

        answer = batch_get(backend, *(f"key-{each}" for each in range(100)))

        assert answer["Responses"][backend.keys] == [item]

    @pytest.mark.parametrize(
        "names",
        cases(
            {
                "many": [f"key-{each}" for each in range(101)],
                "twice": ["a", "b", "a"],
                "empty": ["a", ""],
            }
        ),
    )
    def test_batch_get_item_is_refused_when_its_keys_are_wrong(
        self, backend: Backend, names: list[str]
    ) -> None:
        """More than 100, the same one twice, or an empty one."""
        assert fate(lambda: batch_get(backend, *names)) == backend.expected(INVALID)


class TestGetItem(OnEveryBackend):
    """GetItem API reference."""

    def test_get_item_finds_the_whole_item(self, backend: Backend) -> None:
        """Without a projection, all attributes are returned."""
        item = add_key(backend)

        assert read_key(backend) == item

    def test_get_item_answers_without_an_item_when_there_is_none(
        self, backend: Backend
    ) -> None:
        """There is no Item element in the answer then."""
        assert read_key(backend) is None

    @pytest.mark.parametrize(
        "key",
        cases(
            {
                "part": {"project_id": {"S": "PROJ"}},
                "more": ticket(1, title="no part of the key"),
                "type": {"project_id": {"S": "PROJ"}, "number": {"S": "1"}},
            }
        ),
    )
    def test_get_item_is_refused_when_the_key_does_not_match(
        self, backend: Backend, key: dict[str, Any]
    ) -> None:
        """All of the key's attributes, of their types, and no other."""
        get_item = backend.dynamodb.get_item

        assert fate(lambda: get_item(TableName=backend.tickets, Key=key)) == (
            backend.expected(INVALID)
        )
