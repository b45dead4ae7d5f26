"""Ours and four other ways to number tickets, each a Lambda handler on the model.

The others are as their sources have them: one record after the other.
They share our parsing, our ticket item and our announcement, so that they differ from
ours in how a number is found, and in nothing else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from botocore.exceptions import ClientError

from simulation.aws.lambda_service import Handler
from simulation.execution_environment import SHIPPED, ExecutionEnvironment
from simulation.monitor import KEYS, TICKETS
from ticket_numbering.dynamodb_items import ticket_item
from ticket_numbering.dynamodb_store import serialized
from ticket_numbering.messages import CreateTicket, TicketNumberAssigned
from ticket_numbering.ports import Announcement

MILLISECONDS: Final = 1000
NOT_THERE: Final = "attribute_not_exists({})"
REFUSALS: Final = {"ConditionalCheckFailedException", "TransactionCanceledException"}
STAMP: Final = "2026-11-21T00:00:00.000Z"

Number = Callable[[CreateTicket, Any], int]
"""Gives a request its number; also gets the invocation's context."""


@dataclass(frozen=True)
class RecordByRecord:
    """A handler that numbers one record after the other."""

    environment: ExecutionEnvironment
    number: Number

    def __call__(self, event: dict[str, Any], context: Any) -> Any:
        """Handle a batch."""
        failures = []
        for record in event["Records"]:
            try:
                self._handle(record["body"], context)
            except Exception:  # noqa: BLE001 - as Powertools' processor does.
                failures.append({"itemIdentifier": record["messageId"]})
        return {"batchItemFailures": failures}

    def _handle(self, body: str, context: Any) -> None:
        request = CreateTicket.parse(body)
        number = self.number(request, context)
        event = TicketNumberAssigned.of(request, number, STAMP)
        failures = self.environment.publisher().publish(
            [Announcement(event, replayed=False)],
            lambda: float(context.get_remaining_time_in_millis() / MILLISECONDS),
        )
        for error in failures.values():
            raise error


def textbook(environment: ExecutionEnvironment) -> Number:
    """Query, put, and on a collision plus one: the loop of the AWS blog."""

    def number(request: CreateTicket, _: Any) -> int:
        found = environment.store().last_number(request.project_id) + 1
        while not _put_ticket(environment, request, found):
            found += 1
        return found

    return number


def add_counter(environment: ExecutionEnvironment) -> Number:
    """Count in an item of its own with ADD, then write the ticket."""

    def number(request: CreateTicket, _: Any) -> int:
        answer = environment.dynamodb.update_item(
            TableName=KEYS,
            Key={"id": {"S": request.project_id}},
            UpdateExpression="ADD last_number :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
            ReturnValues="UPDATED_NEW",
        )
        found = int(answer["Attributes"]["last_number"]["N"])
        _put_ticket(environment, request, found)
        return found

    return number


def locked_counter(environment: ExecutionEnvironment) -> Number:
    """Read a counter, then write it and the ticket together if it is unchanged.

    On every cancellation it reads again, whatever the reason, without a backoff.
    """

    def number(request: CreateTicket, _: Any) -> int:
        key = {"id": {"S": request.project_id}}
        while True:
            found = environment.dynamodb.get_item(
                TableName=KEYS, Key=key, ConsistentRead=True
            )
            last = int(found["Item"]["last_number"]["N"]) if "Item" in found else 0
            puts = _counter_and_ticket(request, last)
            if _succeeds(environment.dynamodb.transact_write_items, TransactItems=puts):
                return last + 1

    return number


def powertools(environment: ExecutionEnvironment) -> Number:
    """Wrap the textbook's loop in the idempotency of Powertools."""
    config = IdempotencyConfig()
    loop = textbook(environment)
    numbered = idempotent_function(
        lambda *, key, request: loop(request, None),  # noqa: ARG005 - the key.
        data_keyword_argument="key",
        persistence_store=DynamoDBPersistenceLayer(
            table_name=KEYS, boto3_client=environment.dynamodb
        ),
        config=config,
        key_prefix="benchmark",
    )

    def number(request: CreateTicket, context: Any) -> int:
        config.register_lambda_context(context)
        return int(numbered(key="#".join(request.key), request=request))

    return number


def _counter_and_ticket(request: CreateTicket, last: int) -> list[dict[str, Any]]:
    counter: dict[str, Any] = {
        "TableName": KEYS,
        "Item": {
            "id": {"S": request.project_id},
            "last_number": {"N": str(last + 1)},
        },
        "ConditionExpression": NOT_THERE.format("id"),
    }
    if last:
        counter |= {
            "ConditionExpression": "last_number = :last",
            "ExpressionAttributeValues": {":last": {"N": str(last)}},
        }
    return [{"Put": counter}, {"Put": _ticket_put(request, last + 1)}]


def _put_ticket(
    environment: ExecutionEnvironment, request: CreateTicket, number: int
) -> bool:
    """Write the ticket if the number is free; tell whether it was."""
    return _succeeds(environment.dynamodb.put_item, **_ticket_put(request, number))


def _ticket_put(request: CreateTicket, number: int) -> dict[str, Any]:
    return {
        "TableName": TICKETS,
        "Item": serialized(ticket_item(request, number, STAMP)),
        "ConditionExpression": NOT_THERE.format("project_id"),
    }


def _succeeds(write: Callable[..., Any], **request: Any) -> bool:
    """Write, and tell whether the conditions held."""
    try:
        write(**request)
    except ClientError as error:
        if error.response["Error"]["Code"] not in REFUSALS:
            raise
        return False
    return True


def _one_by_one(
    way: Callable[[ExecutionEnvironment], Number],
) -> Callable[[ExecutionEnvironment], Handler]:
    return lambda environment: RecordByRecord(environment, way(environment))


OURS: Final = "ours"
TEXTBOOK: Final = "textbook"

CONTENDERS: Final[Mapping[str, Callable[[ExecutionEnvironment], Handler]]] = {
    OURS: SHIPPED.build,
    TEXTBOOK: _one_by_one(textbook),
    "locked-counter": _one_by_one(locked_counter),
    "add-counter": _one_by_one(add_counter),
    "powertools": _one_by_one(powertools),
}
"""Every way by its name; each makes the handler of one execution environment."""
