"""Four other ways to number tickets, as their sources have them.

One record after the other, with the number and nothing else as the record's result.
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

from benchmarks.site import Site
from ticket_numbering.aws_errors import code_of
from ticket_numbering.dynamodb_items import ticket_item
from ticket_numbering.messages import CreateTicket, TicketNumberAssigned
from ticket_numbering.sns_publisher import Announcement
from ticket_numbering.sqs_record import QueueRecord

MILLISECONDS: Final = 1000
NOT_THERE: Final = "attribute_not_exists({})"
STAMP: Final = "2026-11-21T00:00:00.000Z"

Numbering = Callable[[Site, CreateTicket], int]


@dataclass(frozen=True)
class RecordByRecord:
    """A handler that numbers one record after the other."""

    site: Site
    number: Numbering

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
        request = QueueRecord.of(record).parse()
        self.site.cache["context"] = context
        number = self.number(self.site, request)
        event = TicketNumberAssigned.of(request, number, STAMP)
        failures = self.site.announcer().announce(
            [Announcement(event, replayed=False)],
            lambda: float(context.get_remaining_time_in_millis() / MILLISECONDS),
        )
        for error in failures.values():
            raise error


def textbook(site: Site, request: CreateTicket) -> int:
    """Query, put, and on a collision plus one: the loop of the AWS blog."""
    number = site.store().last_number(request.project_id) + 1
    attempts = 1
    while not _put_ticket(site, request, number):
        number += 1
        attempts += 1
    site.tally.attempts.append(attempts)
    return number


def add_counter(site: Site, request: CreateTicket) -> int:
    """Count in a row of its own with ADD, then write the ticket."""
    answer = site.dynamodb.update_item(
        TableName=site.keys,
        Key={"id": {"S": request.project_id}},
        UpdateExpression="ADD last_number :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnValues="UPDATED_NEW",
    )
    number = int(answer["Attributes"]["last_number"]["N"])
    _put_ticket(site, request, number)
    site.tally.attempts.append(1)
    return number


def locked_counter(site: Site, request: CreateTicket) -> int:
    """Read a counter, then write it and the ticket together if it is unchanged.

    On every cancellation it reads again, whatever the reason, without a pause.
    """
    key = {"id": {"S": request.project_id}}
    attempts = 0
    while True:
        attempts += 1
        found = site.dynamodb.get_item(
            TableName=site.keys, Key=key, ConsistentRead=True
        )
        last = int(found["Item"]["last_number"]["N"]) if "Item" in found else 0
        try:
            site.dynamodb.transact_write_items(
                TransactItems=_counted(site, request, last)
            )
        except ClientError as error:
            if code_of(error) != "TransactionCanceledException":
                raise
            continue
        site.tally.attempts.append(attempts)
        return last + 1


def _counted(site: Site, request: CreateTicket, last: int) -> list[dict[str, Any]]:
    counter: dict[str, Any] = {
        "TableName": site.keys,
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
    ticket = {
        "TableName": site.tickets,
        "Item": ticket_item(request, last + 1, STAMP),
        "ConditionExpression": NOT_THERE.format("project_id"),
    }
    return [{"Put": counter}, {"Put": ticket}]


def powertools(site: Site, request: CreateTicket) -> int:
    """Wrap the textbook's loop in the idempotency of Powertools."""
    if "numbered" not in site.cache:
        site.cache["config"] = IdempotencyConfig()
        site.cache["numbered"] = idempotent_function(
            lambda *, key, request: textbook(site, request),  # noqa: ARG005 - the key.
            data_keyword_argument="key",
            persistence_store=DynamoDBPersistenceLayer(
                table_name=site.keys, boto3_client=site.dynamodb
            ),
            config=site.cache["config"],
            key_prefix="benchmark",
        )
    site.cache["config"].register_lambda_context(site.cache["context"])
    return int(site.cache["numbered"](key="#".join(request.key), request=request))


def _put_ticket(site: Site, request: CreateTicket, number: int) -> bool:
    """Write the ticket if the number is free; tell whether it was."""
    try:
        site.dynamodb.put_item(
            TableName=site.tickets,
            Item=ticket_item(request, number, STAMP),
            ConditionExpression=NOT_THERE.format("project_id"),
        )
    except ClientError as error:
        if code_of(error) != "ConditionalCheckFailedException":
            raise
        return False
    return True
