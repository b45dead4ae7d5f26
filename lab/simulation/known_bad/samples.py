"""Algorithms from samples and blog posts: one record after the other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import ClientError

from simulation.aws.messages import MILLISECONDS
from simulation.aws.tables import KEYS, TICKETS
from simulation.world.execution_environment import SETTINGS, ExecutionEnvironment
from ticket_numbering.adapters.aws_errors import code_of
from ticket_numbering.adapters.dynamodb_store import serialized
from ticket_numbering.contract.dynamodb_items import ticket_item
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.errors import (
    IdempotencyMismatchError,
    PoisonMessageError,
)
from ticket_numbering.contract.events import TicketNumberAssigned
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticket_numbering.worker.results import Poison
from ticket_numbering.worker.sqs_record import SQSRecord

NOT_THERE: Final = "attribute_not_exists({})"
REFUSALS: Final = {"ConditionalCheckFailedException", "TransactionCanceledException"}
STAMP: Final = "2026-11-21T00:00:00.000Z"
"""The same for all: these algorithms do not store the time."""


Number = Callable[[ExecutionEnvironment, CreateTicket], int]
"""Gives a request its number."""


@dataclass
class RecordByRecord:
    """A handler that numbers one record after the other."""

    environment: ExecutionEnvironment
    number: Number

    def __call__(self, event: dict[str, Any], context: Any) -> Any:
        """Handle a batch."""
        failures = []
        for record in event["Records"]:
            try:
                self._handle(record, context)
            except Exception:  # noqa: BLE001 - as Powertools' processor does.
                failures.append({"itemIdentifier": record["messageId"]})
        return {"batchItemFailures": failures}

    def _handle(self, record: Mapping[str, Any], context: Any) -> None:
        def left() -> float:
            return float(context.get_remaining_time_in_millis() / MILLISECONDS)

        parsed = SQSRecord.of(record)
        failures: Mapping[str, Exception]
        try:
            request = parsed.parse()
            number = self.number(self.environment, request)
        except PoisonMessageError as error:
            dead_letter = Poison(parsed, error)
            failures = self.environment.dead_letters().send([dead_letter], left)
        else:
            envelope = _announcement(request, number)
            failures = self.environment.publisher().publish([envelope], left)
        for failure in failures.values():
            raise failure


def _assignment(request: CreateTicket, number: int) -> Assignment:
    return Assignment(number, request.fingerprint, STAMP)


def _announcement(request: CreateTicket, number: int) -> Envelope:
    event = TicketNumberAssigned.of(
        request, _assignment(request, number), source=SETTINGS.event_source
    )
    return Envelope.of_ticket(
        event, request.key, priority=request.priority, replayed=False
    )


def ticket_put(request: CreateTicket, number: int) -> dict[str, Any]:
    """Return the put of a ticket if its number is free."""
    return {
        "TableName": TICKETS,
        "Item": serialized(ticket_item(request, _assignment(request, number))),
        "ConditionExpression": NOT_THERE.format("project_id"),
    }


def succeeds(write: Callable[..., Any], **request: Any) -> bool:
    """Write; return whether the conditions held."""
    try:
        write(**request)
    except ClientError as error:
        if code_of(error) not in REFUSALS:
            raise
        return False
    return True


def textbook(environment: ExecutionEnvironment, request: CreateTicket) -> int:
    """Query, put, and on a collision plus one: the loop of the AWS blog."""
    number = environment.store().head(request.project_id).next_number
    while not succeeds(environment.dynamodb.put_item, **ticket_put(request, number)):
        number += 1
    return number


def counter(environment: ExecutionEnvironment, request: CreateTicket) -> int:
    """Count in an item of its own with ADD, then write the ticket."""
    answer = environment.dynamodb.update_item(
        TableName=KEYS,
        Key={"id": {"S": request.project_id}},
        UpdateExpression="ADD last :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnValues="UPDATED_NEW",
    )
    number = int(answer["Attributes"]["last"]["N"])
    succeeds(environment.dynamodb.put_item, **ticket_put(request, number))
    return number


def three_steps(environment: ExecutionEnvironment, request: CreateTicket) -> int:
    """Mark as begun, do the work, mark as done: an idempotency wrapper."""
    key = {"id": {"S": "#".join(request.key)}}
    begun = _begin(environment, key, request.fingerprint)
    if begun is not None:
        return begun
    try:
        number = textbook(environment, request)
    except Exception:
        environment.dynamodb.delete_item(TableName=KEYS, Key=key)
        raise
    environment.dynamodb.put_item(
        TableName=KEYS,
        Item={
            **key,
            "number": {"N": str(number)},
            "fingerprint": {"S": request.fingerprint},
        },
    )
    return number


def _begin(
    environment: ExecutionEnvironment, key: dict[str, Any], fingerprint: str
) -> int | None:
    """Return the number if the work was done; None if it is to be done here."""
    expiry = {"N": str(int(environment.scheduler.now) + 30)}
    begin = {"TableName": KEYS, "Item": {**key, "expires": expiry}}
    free = NOT_THERE.format("id")
    if succeeds(environment.dynamodb.put_item, **begin, ConditionExpression=free):
        return None
    item = environment.dynamodb.get_item(TableName=KEYS, Key=key, ConsistentRead=True)[
        "Item"
    ]
    if item.get("fingerprint", {"S": fingerprint}) != {"S": fingerprint}:
        raise IdempotencyMismatchError("used for another ticket")
    if "number" in item:
        return int(item["number"]["N"])
    if int(item["expires"]["N"]) > environment.scheduler.now:
        raise RuntimeError("in progress")
    environment.dynamodb.put_item(**begin)
    return None
