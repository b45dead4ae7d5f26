"""The worker and four other ways to number tickets, each a Lambda handler on the model.

The others are as their sources have them: one record after the other.
They share the worker's parsing, ticket item and announcement, and differ from it in
the way to a number alone.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)

from simulation.aws.lambda_service import Handler
from simulation.aws.tables import KEYS
from simulation.known_bad.samples import (
    NOT_THERE,
    RecordByRecord,
    counter,
    succeeds,
    textbook,
    ticket_put,
)
from simulation.world.execution_environment import SHIPPED, ExecutionEnvironment
from ticket_numbering.contract.messages import CreateTicket


def locked_counter(environment: ExecutionEnvironment, request: CreateTicket) -> int:
    """Read a counter, then write it and the ticket together if it is unchanged.

    On every cancellation it reads again, for any reason, without a backoff.
    """
    key = {"id": {"S": request.project_id}}
    dynamodb = environment.dynamodb
    while True:
        answer = dynamodb.get_item(TableName=KEYS, Key=key, ConsistentRead=True)
        last = int(answer["Item"]["last_number"]["N"]) if "Item" in answer else 0
        puts = _counter_and_ticket(request, last)
        if succeeds(dynamodb.transact_write_items, TransactItems=puts):
            return last + 1


def _counter_and_ticket(request: CreateTicket, last: int) -> list[dict[str, Any]]:
    counter: dict[str, Any] = {
        "TableName": KEYS,
        "Item": {"id": {"S": request.project_id}, "last_number": {"N": str(last + 1)}},
        "ConditionExpression": NOT_THERE.format("id"),
    }
    if last:
        counter |= {
            "ConditionExpression": "last_number = :last",
            "ExpressionAttributeValues": {":last": {"N": str(last)}},
        }
    return [{"Put": counter}, {"Put": ticket_put(request, last + 1)}]


def powertools(environment: ExecutionEnvironment) -> Handler:
    """Wrap the textbook's loop in the idempotency of Powertools."""
    config = IdempotencyConfig()
    numbered = idempotent_function(
        lambda *, key, request: textbook(environment, request),  # noqa: ARG005 - the key.
        data_keyword_argument="key",
        persistence_store=DynamoDBPersistenceLayer(
            table_name=KEYS, boto3_client=environment.dynamodb
        ),
        config=config,
        key_prefix="benchmark",
    )
    handler = RecordByRecord(
        environment,
        lambda _, request: int(numbered(key="#".join(request.key), request=request)),
    )

    def handle(event: dict[str, Any], context: Any) -> Any:
        config.register_lambda_context(context)
        return handler(event, context)

    return handle


def alone(environment: ExecutionEnvironment) -> Handler:
    """Return the worker with the template's defaults: without a line."""
    return environment.handler(line=None)


def half(environment: ExecutionEnvironment) -> Handler:
    """Return the worker, in line or alone by chance."""
    build = SHIPPED.build if environment.choices.chance(0.5) else alone
    return build(environment)


OURS: Final = "ours"
LINE: Final = "line"
HALF: Final = "half"
TEXTBOOK: Final = "textbook"

CONTENDERS: Final[Mapping[str, Callable[[ExecutionEnvironment], Handler]]] = {
    OURS: alone,
    TEXTBOOK: partial(RecordByRecord, number=textbook),
    "locked-counter": partial(RecordByRecord, number=locked_counter),
    "add-counter": partial(RecordByRecord, number=counter),
    "powertools": powertools,
}
"""Every way by its name; each makes the handler of one execution environment."""

QUEUEING: Final[Mapping[str, Callable[[ExecutionEnvironment], Handler]]] = {
    OURS: alone,
    LINE: SHIPPED.build,
    HALF: half,
}
"""The worker alone, in line, and with every second environment in line."""
