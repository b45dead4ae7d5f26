"""Reads and writes of single items: DynamoDB API reference."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from conformance.backends import DONE, Backend, outcome_of
from conformance.case import INVALID, Case
from ticket_numbering.adapters.dynamodb_line import DynamoDBLine
from ticket_numbering.allocation.place import Place

RECORD: Final = {"id": {"S": "key-7"}, "number": {"N": "7"}, "at": {"S": "then"}}
BARE: Final = {"id": {"S": "key-7"}}
ODD: Final[dict[str, Any]] = {
    "id": {"S": "A.b_c-1#!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~"},
    "title": {"S": "Caf\u00e9 \U0001f469\u200d\U0001f467"},
    "attributes": {"M": {"empty": {"S": ""}, "\u0627": {"L": [{"S": "b"}] * 2}}},
}


def query(backend: Backend, numbers: Sequence[int], **options: Any) -> list[str]:
    """Put tickets of a project and of another; return the numbers of a Query."""
    tickets = [("PROJ", number) for number in numbers] + [("OTHER", 12)]
    for project, number in tickets:
        item = {"project_id": {"S": project}, "number": {"N": str(number)}}
        backend.dynamodb.put_item(TableName=backend.tickets, Item=item)
    answer = backend.dynamodb.query(
        TableName=backend.tickets,
        KeyConditionExpression="project_id = :project",
        ExpressionAttributeValues={":project": {"S": "PROJ"}},
        ConsistentRead=True,
        **options,
    )
    return [item["number"]["N"] for item in answer["Items"]]


def read(backend: Backend) -> Any:
    """Return the record; None if there is none."""
    get_item = backend.dynamodb.get_item
    return get_item(TableName=backend.keys, Key=BARE, ConsistentRead=True).get("Item")


def put(backend: Backend, item: Any, **options: Any) -> None:
    """Put an item."""
    backend.dynamodb.put_item(TableName=backend.keys, Item=item, **options)


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


def transact_get(backend: Backend, names: Iterable[str]) -> Any:
    """Read in a transaction where there is one record."""
    put(backend, ODD)
    gets = [
        {"Get": {"TableName": backend.keys, "Key": {"id": {"S": name}}}}
        for name in names
    ]
    return backend.dynamodb.transact_get_items(TransactItems=gets)["Responses"]


def shown(backend: Backend) -> Any:
    """Return the item that a failed condition shows, and the one in the table."""
    put(backend, RECORD)
    options = {
        "ConditionExpression": "attribute_not_exists(id)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    try:
        put(backend, BARE, **options)
    except backend.dynamodb.exceptions.ConditionalCheckFailedException as error:
        return error.response.get("Item"), read(backend)
    return DONE


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


def places(backend: Backend) -> Any:
    """Take, give up and take again in a line that is missing, and then behind."""
    line = DynamoDBLine(backend.dynamodb, backend.lines)
    taken = [line.take("PROJ", 7, 10), line.take("PROJ", 7, 5)]
    given_up = [line.give_up("PROJ", known, 3) for known in (0, 0, 3)]
    return taken, given_up, line.take("PROJ", 7, 1), line.take("PROJ", 500, 2)


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
        "TransactGetItems of two keys, of which one exists, with odd strings",
        lambda backend: transact_get(backend, ["none", ODD["id"]["S"]]),
        [{}, {"Item": ODD}],
    ),
    Case(
        "TransactGetItems of 100 keys",
        lambda backend: outcome_of(lambda: transact_get(backend, map(str, range(100)))),
        DONE,
        instead={"moto": INVALID},
    ),
    Case(
        "PutItem whose condition fails, `ALL_OLD`",
        shown,
        (RECORD, RECORD),
        "tier3/error-messages/conditionalCheck",
    ),
    Case(
        "PutItem over 400 KB",
        lambda backend: outcome_of(
            lambda: put(backend, BARE | {"text": {"S": "x" * 400 * 1024}})
        ),
        INVALID,
        "tier3/limits/itemSize",
    ),
    Case(
        "UpdateItem that adds under a condition, `ALL_NEW` and `ALL_OLD`",
        places,
        (
            [Place(7, 17, 0), Place(17, 22, 0)],
            [3, 3, 6],
            Place(16, 17, 6),
            Place(500, 502, 6),
        ),
    ),
    # `ticketctl void` and `erase` use it; the worker has no right to it.
    Case(
        "UpdateItem that sets and removes",
        changed,
        (BARE | {"number": {"N": "8"}}, BARE | {"number": {"N": "8"}}),
    ),
)
