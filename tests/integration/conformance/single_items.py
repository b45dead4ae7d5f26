"""Reads and writes of single items: DynamoDB API reference."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from tests.integration.conformance.case import INVALID, NO_TABLE, Case
from tests.support.backends import DONE, Backend, outcome_of

RECORD: Final = {"id": {"S": "key-7"}, "number": {"N": "7"}, "at": {"S": "then"}}
BARE: Final = {"id": {"S": "key-7"}}
TOO_LARGE: Final = {"id": {"S": "key-7"}, "text": {"S": "x" * 400 * 1024}}


def query(
    backend: Backend, numbers: Sequence[int], side: str = "", **options: Any
) -> list[str]:
    """Put tickets of a project and of another; return the numbers of a Query.

    With a side it asks for the numbers on that side of nine.
    """
    part, values = "", {}
    if side:
        part, values = f" AND #number {side} :number", {":number": {"N": "9"}}
        options["ExpressionAttributeNames"] = {"#number": "number"}
    tickets = [("PROJ", number) for number in numbers] + [("OTHER", 12)]
    for project, number in tickets:
        item = {"project_id": {"S": project}, "number": {"N": str(number)}}
        backend.dynamodb.put_item(TableName=backend.tickets, Item=item)
    answer = backend.dynamodb.query(
        TableName=backend.tickets,
        KeyConditionExpression=f"project_id = :project{part}",
        ExpressionAttributeValues={":project": {"S": "PROJ"}} | values,
        ConsistentRead=True,
        **options,
    )
    return [item["number"]["N"] for item in answer["Items"]]


def read(backend: Backend, name: str = "key-7") -> Any:
    """Return the record of a key; None if there is none."""
    key = {"id": {"S": name}}
    get_item = backend.dynamodb.get_item
    return get_item(TableName=backend.keys, Key=key, ConsistentRead=True).get("Item")


def put(backend: Backend, item: Any, table: str = "", **options: Any) -> None:
    """Put an item."""
    where = table or backend.keys
    backend.dynamodb.put_item(TableName=where, Item=item, **options)


def putting(item: Any, table: str = "") -> Callable[[Backend], str]:
    """Return the outcome of a PutItem."""
    return lambda backend: outcome_of(lambda: put(backend, item, table))


def batch_get(backend: Backend, names: Sequence[str]) -> Any:
    """Read the records of keys."""
    wanted = {"Keys": [{"id": {"S": name}} for name in names], "ConsistentRead": True}
    return backend.dynamodb.batch_get_item(RequestItems={backend.keys: wanted})


def batch_getting(names: Sequence[str]) -> Callable[[Backend], Any]:
    """Return the records that a BatchGetItem finds where there is one, or its error."""

    def outcome(backend: Backend) -> Any:
        put(backend, RECORD)
        answers: list[Any] = []
        code = outcome_of(lambda: answers.append(batch_get(backend, names)))
        if code != DONE:
            return code
        [answer] = answers
        return answer["Responses"][backend.keys], answer["UnprocessedKeys"]

    return outcome


def transact_get_many(count: int, backend: Backend) -> str:
    """Return the outcome of so many reads in a transaction."""
    gets = [
        {"Get": {"TableName": backend.keys, "Key": {"id": {"S": str(number)}}}}
        for number in range(count)
    ]
    read = backend.dynamodb.transact_get_items
    return outcome_of(lambda: read(TransactItems=gets))


def transact_get(backend: Backend) -> Any:
    """Read the records of two keys in a transaction; None where there is none."""
    put(backend, RECORD)
    answer = backend.dynamodb.transact_get_items(
        TransactItems=[
            {"Get": {"TableName": backend.keys, "Key": {"id": {"S": name}}}}
            for name in ("key-7", "key-8")
        ]
    )
    return [found.get("Item") for found in answer["Responses"]]


def replaced(backend: Backend) -> Any:
    """Put an item twice; return what is there."""
    put(backend, RECORD)
    put(backend, BARE)
    return read(backend)


def shown(asked: str | None) -> Callable[[Backend], Any]:
    """Return the item that a failed condition shows, and the one in the table."""

    def outcome(backend: Backend) -> Any:
        put(backend, RECORD)
        options = {"ConditionExpression": "attribute_not_exists(id)"}
        if asked:
            options["ReturnValuesOnConditionCheckFailure"] = asked
        try:
            put(backend, BARE, **options)
        except backend.dynamodb.exceptions.ConditionalCheckFailedException as error:
            return error.response.get("Item"), read(backend)
        return DONE

    return outcome


def counted(backend: Backend) -> Any:
    """Count to two in an item; return what each call shows, and the item."""
    answers = [
        backend.dynamodb.update_item(
            TableName=backend.keys,
            Key={"id": {"S": "counter"}},
            UpdateExpression="ADD #last :one",
            ExpressionAttributeNames={"#last": "last"},
            ExpressionAttributeValues={":one": {"N": "1"}},
            ReturnValues="UPDATED_NEW",
        )
        for _ in range(2)
    ]
    shown = [answer["Attributes"]["last"]["N"] for answer in answers]
    return shown, read(backend, "counter")


def changed(backend: Backend) -> Any:
    """Set an attribute and remove two, one of them absent; return both views."""
    put(backend, RECORD)
    answer = backend.dynamodb.update_item(
        TableName=backend.keys,
        Key=BARE,
        UpdateExpression="SET #number = :number REMOVE #at, absent",
        ExpressionAttributeNames={"#number": "number", "#at": "at"},
        ExpressionAttributeValues={":number": {"N": "8"}},
        ReturnValues="ALL_NEW",
    )
    return answer["Attributes"], read(backend)


def deleted(backend: Backend) -> Any:
    """Delete an item twice; return what is there."""
    put(backend, RECORD)
    for _ in range(2):
        backend.dynamodb.delete_item(TableName=backend.keys, Key=BARE)
    return read(backend)


SINGLE_ITEMS: Final = (
    Case(
        "Query, descending, with Limit 1",
        lambda backend: query(
            backend, [1, 9, 10, 11, 2], ScanIndexForward=False, Limit=1
        ),
        ["11"],
        "tier1/query",
    ),
    Case(
        "Query in its usual order",
        lambda backend: query(backend, [100, 9, 10, 1, 99, 2]),
        ["1", "2", "9", "10", "99", "100"],
        "tier1/query",
    ),
    *(
        Case(
            f"Query of the numbers {side} 9",
            partial(query, numbers=[8, 9, 10], side=side),
            numbers,
        )
        for side, numbers in {"<": ["8"], ">": ["10"], ">=": ["9", "10"]}.items()
    ),
    Case(
        "Query of an empty partition",
        lambda backend: query(backend, []),
        [],
        "tier1/query",
    ),
    Case(
        "BatchGetItem with 100 keys, of which one exists",
        batch_getting([f"key-{number}" for number in range(100)]),
        ([RECORD], {}),
        "tier1/batchGetItem and tier3/limits/batchLimits",
    ),
    Case(
        "BatchGetItem with 101 keys",
        batch_getting([f"key-{number}" for number in range(101)]),
        INVALID,
        "tier1/batchGetItem",
    ),
    Case(
        "BatchGetItem with a key twice",
        batch_getting(["key-7", "key-8", "key-7"]),
        INVALID,
        "tier1/batchGetItem",
    ),
    Case(
        "TransactGetItems of two keys, of which one exists",
        transact_get,
        [RECORD, None],
    ),
    Case(
        "TransactGetItems of 100 keys",
        partial(transact_get_many, 100),
        DONE,
        instead={"moto": INVALID},
    ),
    Case("GetItem of no item", read, None, "tier1/getItem"),
    Case("PutItem over another item", replaced, BARE, "tier1/putItem"),
    Case(
        "PutItem whose condition fails, `ALL_OLD`",
        shown("ALL_OLD"),
        (RECORD, RECORD),
        "tier3/error-messages/conditionalCheck",
    ),
    Case("PutItem whose condition fails", shown(None), (None, RECORD)),
    Case("PutItem over 400 KB", putting(TOO_LARGE), INVALID, "tier3/limits/itemSize"),
    Case(
        "PutItem with an empty key",
        putting({"id": {"S": ""}}),
        INVALID,
        "tier3/limits/emptyValues",
    ),
    Case("PutItem with a key of another type", putting({"id": {"N": "7"}}), INVALID),
    Case(
        "PutItem without a key",
        putting({"text": {"S": "no key"}}),
        INVALID,
        "tier1/putItem",
    ),
    Case(
        "PutItem into no table",
        putting(BARE, "no-such-table"),
        NO_TABLE,
        "tier1/putItem",
    ),
    # The worker has no right to these two; known-bad algorithms use them.
    Case(
        "UpdateItem that counts from nothing",
        counted,
        (["1", "2"], {"id": {"S": "counter"}, "last": {"N": "2"}}),
    ),
    Case(
        "UpdateItem that sets and removes",
        changed,
        (BARE | {"number": {"N": "8"}}, BARE | {"number": {"N": "8"}}),
    ),
    Case("DeleteItem, twice", deleted, None, "tier1/deleteItem/basic"),
)
